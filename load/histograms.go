package main

import (
	"os"
	"strings"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// The histograms hold 1 µs to an hour in ns, three digits of each.
const (
	leastNs  = 1_000
	mostNs   = 3_600_000_000_000
	digits   = 3
	secondNs = 1_000_000_000
)

// The three times of a request, by the tags that its histograms have.
var times = []struct {
	tag  string
	ofNs func(*Done) int64
}{
	{"lag", func(done *Done) int64 { return done.SentNs - done.DueNs }},
	{"from_sent", func(done *Done) int64 { return done.EndedNs - done.SentNs }},
	{"from_scheduled", func(done *Done) int64 { return done.EndedNs - done.DueNs }},
}

// isTime says whether a request's length is a latency: it was answered, or given up after the timeout.
func isTime(done *Done) bool {
	return done.Status != 0 || strings.Contains(done.Error, "deadline exceeded")
}

// writeHistograms writes a histogram log: for each second in which requests were due, one of each time.
func writeHistograms(path string, beganNs int64, done []Done) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	log := hdr.NewHistogramLogWriter(file)
	if err := head(log, beganNs); err != nil {
		return err
	}
	for from := 0; from < len(done); {
		second := done[from].DueNs / secondNs
		to := from
		for to < len(done) && done[to].DueNs/secondNs == second {
			to++
		}
		if err := interval(log, beganNs+second*secondNs, done[from:to]); err != nil {
			return err
		}
		from = to
	}
	return file.Close()
}

func head(log *hdr.HistogramLogWriter, beganNs int64) error {
	if err := log.OutputLogFormatVersion(); err != nil {
		return err
	}
	if err := log.OutputComment("[Values are ns; the tags are lag, from_sent and from_scheduled]"); err != nil {
		return err
	}
	if err := log.OutputStartTime(beganNs / 1_000_000); err != nil {
		return err
	}
	return log.OutputLegend()
}

func interval(log *hdr.HistogramLogWriter, startNs int64, done []Done) error {
	for _, time := range times {
		histogram := hdr.New(leastNs, mostNs, digits)
		histogram.SetTag(time.tag)
		// The writer puts these out as they are, and readers expect seconds and the length of the interval.
		histogram.SetStartTimeMs(startNs / secondNs)
		histogram.SetEndTimeMs(1)
		for index := range done {
			if time.tag != "lag" && !isTime(&done[index]) {
				continue
			}
			ns := min(max(time.ofNs(&done[index]), 0), mostNs)
			if err := histogram.RecordValue(ns); err != nil {
				return err
			}
		}
		if err := log.OutputIntervalHistogram(histogram); err != nil {
			return err
		}
	}
	return nil
}
