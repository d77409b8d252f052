package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// Schedstat sums what the kernel keeps of each thread's turns on the CPUs.
type Schedstat struct {
	RunNs      int64 `json:"run_ns"`
	RunQueueNs int64 `json:"run_queue_ns"`
}

// schedstat looks at all threads of this process; nil where the kernel does not keep it.
func schedstat() *Schedstat {
	files, _ := filepath.Glob("/proc/self/task/*/schedstat")
	sum := Schedstat{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has ended meanwhile
		}
		var of Schedstat
		if _, err := fmt.Sscan(string(text), &of.RunNs, &of.RunQueueNs); err != nil {
			return nil
		}
		sum.RunNs += of.RunNs
		sum.RunQueueNs += of.RunQueueNs
	}
	if len(files) == 0 || sum.RunNs == 0 {
		return nil
	}
	return &sum
}

func since(before, after *Schedstat) *Schedstat {
	if before == nil || after == nil {
		return nil
	}
	return &Schedstat{after.RunNs - before.RunNs, after.RunQueueNs - before.RunQueueNs}
}
