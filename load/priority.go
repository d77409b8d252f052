package main

import (
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// The lowest real-time priority is before all threads of normal priority.
const realTimePriority = 1

// beforeOthers gives the threads of this process a real-time priority (SCHED_FIFO), so that a request is sent when it is due also
// while the server computes. It says whether that was allowed, and gives a function that takes it back.
func beforeOthers() (bool, func()) {
	normal := func() { _ = setPolicy(unix.SchedAttr{Policy: unix.SCHED_NORMAL}) }
	if err := setPolicy(unix.SchedAttr{Policy: unix.SCHED_FIFO, Priority: realTimePriority}); err != nil {
		normal()
		return false, func() {}
	}
	return true, normal
}

// setPolicy sets how the threads of this process are scheduled. Later ones have it from the thread that starts them; so it looks
// until there is none that is new.
func setPolicy(attributes unix.SchedAttr) error {
	attributes.Size = unix.SizeofSchedAttr
	set := map[string]bool{}
	for {
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return err
		}
		before := len(set)
		for _, thread := range threads {
			if set[thread.Name()] {
				continue
			}
			if err := setPolicyOf(thread.Name(), attributes); err != nil {
				return err
			}
			set[thread.Name()] = true
		}
		if len(set) == before {
			return nil
		}
	}
}

func setPolicyOf(name string, attributes unix.SchedAttr) error {
	number, err := strconv.Atoi(name)
	if err != nil {
		return err
	}
	if err := unix.SchedSetAttr(number, &attributes, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return err
	}
	return nil
}
