// Takes Go's own profiles of a program that sorts, allocates and waits for a lock.
package main

import (
	"math/rand"
	"os"
	"runtime"
	"runtime/pprof"
	"sort"
	"sync"
	"time"
)

var mutex sync.Mutex
var kept [][]byte

func churn(until time.Time) {
	for time.Now().Before(until) {
		mutex.Lock()
		values := rand.Perm(20000)
		sort.Ints(values)
		kept = append(kept, make([]byte, 10000))
		mutex.Unlock()
	}
}

func write(name string) {
	file, _ := os.Create(name + ".pb.gz")
	pprof.Lookup(name).WriteTo(file, 0)
	file.Close()
}

func main() {
	runtime.SetMutexProfileFraction(1)
	file, _ := os.Create("cpu.pb.gz")
	pprof.StartCPUProfile(file)
	var all sync.WaitGroup
	for i := 0; i < 2; i++ {
		all.Add(1)
		go func() { defer all.Done(); churn(time.Now().Add(2 * time.Second)) }()
	}
	all.Wait()
	pprof.StopCPUProfile()
	file.Close()
	for _, name := range []string{"allocs", "goroutine", "mutex"} {
		write(name)
	}
}
