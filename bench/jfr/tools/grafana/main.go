// Reads every event of FILE that grafana's parser knows, PASSES times; prints seconds and events of each pass.
package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/grafana/jfr-parser/parser"
)

func main() {
	if len(os.Args) != 3 {
		fail(fmt.Errorf("usage: grafana FILE PASSES"))
	}
	passes, err := strconv.Atoi(os.Args[2])
	if err != nil {
		fail(err)
	}
	for range passes {
		start := time.Now()
		events, err := load(os.Args[1])
		if err != nil {
			fail(err)
		}
		fmt.Printf("%.6f %d\n", time.Since(start).Seconds(), events)
	}
}

func load(file string) (int, error) {
	bytes, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	reader := parser.NewParser(bytes, parser.Options{})
	for events := 0; ; events++ {
		if _, err := reader.ParseEvent(); err == io.EOF {
			return events, nil
		} else if err != nil {
			return 0, err
		}
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
