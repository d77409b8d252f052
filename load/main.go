// Fathom's load engine: sends HTTP requests at given times, by vegeta, and says of each when it was due, sent and ended.
//
// Standard input has the schedule, one JSON object a line, in the order of their times. Standard output has one object for
// each request in the same order, and a last one about the engine itself. `fathom load` writes the one and reads the other.
//
// With -fakes it stands in for services that the server calls (fakes.go) until its standard input ends.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Planned is a request that is to be sent. Times are ns since the run began.
type Planned struct {
	DueNs  int64               `json:"due_ns"`
	Method string              `json:"method"`
	URL    string              `json:"url"`
	Header map[string][]string `json:"header,omitempty"`
}

// Done is what became of it.
type Done struct {
	DueNs   int64  `json:"due_ns"`
	SentNs  int64  `json:"sent_ns"`
	EndedNs int64  `json:"ended_ns"`
	Status  int    `json:"status"`
	Bytes   int64  `json:"bytes"`
	Error   string `json:"error,omitempty"`
}

func main() {
	options := Options{}
	flag.DurationVar(&options.Timeout, "timeout", 30*time.Second, "how long an answer is waited for")
	flag.IntVar(&options.Workers, "workers", 10000, "how many requests may be under way at once")
	flag.BoolVar(&options.RealTime, "real-time", false, "send at a real-time priority where that is allowed")
	histograms := flag.String("histograms", "", "a file for HDR histograms of lag and latencies")
	fakes := flag.Bool("fakes", false, "stand in for other services, instead of sending")
	flag.Parse()
	// When fathom is killed this ends, too. Where the kernel refuses it, it goes on to its end.
	_ = unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGTERM), 0, 0, 0)
	work := func() error { return run(options, *histograms) }
	if *fakes {
		work = func() error { return runFakes(os.Stdin, os.Stdout) }
	}
	if err := work(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(options Options, histograms string) error {
	schedule, err := read(os.Stdin)
	if err != nil {
		return err
	}
	done, engine, err := send(schedule, options)
	if err != nil {
		return err
	}
	if histograms != "" {
		if err := writeHistograms(histograms, engine.BeganNs, done); err != nil {
			return err
		}
	}
	return write(os.Stdout, done, engine)
}

func read(from io.Reader) ([]Planned, error) {
	decoder := json.NewDecoder(bufio.NewReaderSize(from, 1<<20))
	var schedule []Planned
	for {
		var planned Planned
		err := decoder.Decode(&planned)
		if err == io.EOF {
			return schedule, nil
		}
		if err == nil && len(schedule) > 0 && planned.DueNs < schedule[len(schedule)-1].DueNs {
			err = fmt.Errorf("due before the request above it")
		}
		if err != nil {
			return nil, fmt.Errorf("request %d of the schedule: %w", len(schedule)+1, err)
		}
		schedule = append(schedule, planned)
	}
}

func write(to io.Writer, done []Done, engine Engine) error {
	buffered := bufio.NewWriterSize(to, 1<<20)
	encoder := json.NewEncoder(buffered)
	for index := range done {
		if err := encoder.Encode(&done[index]); err != nil {
			return err
		}
	}
	if err := encoder.Encode(engine); err != nil {
		return err
	}
	return buffered.Flush()
}
