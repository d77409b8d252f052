package main

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"
	"golang.org/x/sys/unix"
)

// Options of a run.
type Options struct {
	Timeout  time.Duration
	Workers  int
	RealTime bool
}

// Engine is what the run cost the engine, and where its limits were.
type Engine struct {
	// When the run began, in ns since the Unix epoch.
	BeganNs int64 `json:"began_ns"`
	// How long it took until the last request had ended.
	ElapsedNs int64 `json:"elapsed_ns"`
	Cpus      int   `json:"cpus"`
	// Most requests that were under way at once, and how many may be.
	UnderWay int64 `json:"under_way"`
	Workers  int   `json:"workers"`
	// Whether its threads came before others.
	RealTime bool `json:"real_time"`
	// What the engine's threads had of the CPUs, and how long they waited for one. Not known on some kernels.
	Schedule *Schedstat `json:"schedule"`
}

// The number of a request in the schedule goes with it to the transport in this header, and no further.
const indexHeader = "X-Fathom-Index"

// vegeta adds this one.
const sequenceHeader = "X-Vegeta-Seq"

// send sends each request when it is due, whatever became of those before it.
func send(schedule []Planned, options Options) ([]Done, Engine, error) {
	run, err := newReplay(schedule, options)
	if err != nil {
		return nil, Engine{}, err
	}
	isRealTime, normal := false, func() {}
	if options.RealTime {
		isRealTime, normal = beforeOthers()
	}
	defer normal()
	before := schedstat()
	began := time.Now()
	attacker := vegeta.NewAttacker(
		vegeta.Client(&http.Client{Transport: run, Timeout: options.Timeout, CheckRedirect: stay}),
		vegeta.MaxBody(0), // the transport counts the bytes and keeps none
		vegeta.Workers(uint64(min(32, options.Workers))),
		vegeta.MaxWorkers(uint64(options.Workers)),
	)
	for result := range attacker.Attack(run.next, run.pacer(), 0, "") {
		run.note(began, result)
	}
	return run.done, Engine{
		BeganNs:   began.UnixNano(),
		ElapsedNs: int64(time.Since(began)),
		Cpus:      runtime.GOMAXPROCS(0),
		UnderWay:  run.most.Load(),
		Workers:   options.Workers,
		RealTime:  isRealTime,
		Schedule:  since(before, schedstat()),
	}, nil
}

// A redirect's target is a request of its own in what is replayed.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// replay is vegeta's source of requests and its transport. Between these two vegeta gives each request a number of its own, by
// which its result is known.
type replay struct {
	requests []*http.Request
	done     []Done
	indexOf  []int32 // of vegeta's number
	started  atomic.Int64
	underWay atomic.Int64
	most     atomic.Int64
	inner    *http.Transport
}

func newReplay(schedule []Planned, options Options) (*replay, error) {
	run := &replay{
		requests: make([]*http.Request, len(schedule)),
		done:     make([]Done, len(schedule)),
		indexOf:  make([]int32, len(schedule)),
		inner: &http.Transport{
			DisableCompression:  true, // bytes are those on the wire
			MaxIdleConnsPerHost: options.Workers,
		},
	}
	for index, planned := range schedule {
		request, err := http.NewRequest(planned.Method, planned.URL, nil)
		if err != nil {
			return nil, fmt.Errorf("request %d of the schedule: %w", index+1, err)
		}
		for name, values := range planned.Header {
			request.Header[http.CanonicalHeaderKey(name)] = values
		}
		if host := request.Header.Get("Host"); host != "" {
			request.Host = host
		}
		run.requests[index] = request
		run.done[index].DueNs = planned.DueNs
	}
	return run, nil
}

// next gives a worker the next request of the schedule.
func (run *replay) next(target *vegeta.Target) error {
	index := int(run.started.Add(1)) - 1
	request := run.requests[index]
	target.Method, target.URL = request.Method, request.URL.String()
	target.Header = http.Header{indexHeader: {strconv.Itoa(index)}}
	return nil
}

// RoundTrip sends the request of the schedule, without the headers of this program.
func (run *replay) RoundTrip(request *http.Request) (*http.Response, error) {
	index, err := strconv.Atoi(request.Header.Get(indexHeader))
	if err != nil {
		return nil, err
	}
	sequence, err := strconv.Atoi(request.Header.Get(sequenceHeader))
	if err != nil {
		return nil, err
	}
	run.indexOf[sequence] = int32(index)
	run.begins()
	planned := run.requests[index].WithContext(request.Context())
	response, err := run.inner.RoundTrip(planned)
	if err != nil {
		run.underWay.Add(-1)
		return nil, err
	}
	response.Body = &counted{ReadCloser: response.Body, bytes: &run.done[index].Bytes, underWay: &run.underWay}
	return response, nil
}

func (run *replay) begins() {
	now := run.underWay.Add(1)
	for most := run.most.Load(); now > most && !run.most.CompareAndSwap(most, now); most = run.most.Load() {
	}
}

// note keeps what vegeta says of a request: when it sent it, and when the last byte had come.
func (run *replay) note(began time.Time, result *vegeta.Result) {
	done := &run.done[run.indexOf[result.Seq]]
	sent := result.Timestamp.Sub(began)
	done.SentNs, done.EndedNs = int64(sent), int64(sent+result.Latency)
	done.Status = int(result.Code)
	if done.Status == 0 {
		done.Error = result.Error
	}
}

// counted is the body of an answer whose bytes are counted.
type counted struct {
	io.ReadCloser
	bytes    *int64
	underWay *atomic.Int64
}

func (body *counted) Read(into []byte) (int, error) {
	count, err := body.ReadCloser.Read(into)
	*body.bytes += int64(count)
	return count, err
}

func (body *counted) Close() error {
	body.underWay.Add(-1)
	return body.ReadCloser.Close()
}

// pacer waits until the next request is due.
type pacer struct{ done []Done }

func (run *replay) pacer() vegeta.Pacer { return pacer{run.done} }

// Rate is only asked for by vegeta's own reports.
func (pacer) Rate(time.Duration) float64 { return 0 }

// Pace does the waiting itself, in the kernel: Go's own timers wake up as much as a millisecond late.
func (p pacer) Pace(elapsed time.Duration, hits uint64) (time.Duration, bool) {
	if hits == 0 {
		// Sleeps of a thread end within 50 µs unless it asks for less.
		runtime.LockOSThread()
		_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	}
	if hits == uint64(len(p.done)) {
		return 0, true
	}
	wait := time.Duration(p.done[hits].DueNs) - elapsed
	if wait > 0 {
		left := unix.NsecToTimespec(int64(wait))
		for unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &left, &left) == unix.EINTR {
		}
	}
	return 0, false
}
