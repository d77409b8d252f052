package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

var options = Options{Timeout: 300 * time.Millisecond, Workers: 100}

// server answers by path, and keeps what came.
func server(t *testing.T) (string, func() map[string][]http.Header) {
	var lock sync.Mutex
	came := map[string][]http.Header{}
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		lock.Lock()
		came[in.Method+" "+in.URL.RequestURI()] = append(came[in.Method+" "+in.URL.RequestURI()], in.Header)
		lock.Unlock()
		switch in.URL.Path {
		case "/slow":
			time.Sleep(150 * time.Millisecond)
		case "/never":
			time.Sleep(600 * time.Millisecond)
		case "/moved":
			http.Redirect(out, in, "/elsewhere", http.StatusFound)
			return
		}
		_, _ = out.Write([]byte("hello"))
	}))
	t.Cleanup(server.Close)
	return server.URL, func() map[string][]http.Header {
		lock.Lock()
		defer lock.Unlock()
		return came
	}
}

func TestRequestsKeepTheirPlaceWhateverEndsFirst(t *testing.T) {
	address, came := server(t)
	header := map[string][]string{"user-agent": {"test"}}
	schedule := []Planned{
		{0, "GET", address + "/slow", header},
		{0, "GET", address + "/a?x=1", header},
		{20_000_000, "HEAD", address + "/b", header},
		{20_000_000, "GET", address + "/moved", header},
	}
	done, engine, err := send(schedule, options)
	if err != nil {
		t.Fatal(err)
	}
	for index, status := range []int{200, 200, 200, 302} {
		one := done[index]
		if one.Status != status || one.DueNs != schedule[index].DueNs || one.SentNs < one.DueNs || one.EndedNs < one.SentNs {
			t.Errorf("request %d: %+v", index, one)
		}
	}
	if took := done[0].EndedNs - done[0].DueNs; took < 150_000_000 {
		t.Errorf("the slow one took %d ns", took)
	}
	if done[1].EndedNs > done[0].EndedNs || done[1].Bytes != 5 || done[2].Bytes != 0 {
		t.Errorf("%+v", done)
	}
	headers := came()["GET /a?x=1"]
	if len(headers) != 1 || headers[0].Get("User-Agent") != "test" {
		t.Fatalf("%v", came())
	}
	if headers[0].Get(indexHeader)+headers[0].Get(sequenceHeader) != "" {
		t.Errorf("the program's own headers were sent: %v", headers[0])
	}
	if len(came()["GET /elsewhere"]) != 0 {
		t.Error("a redirect was followed")
	}
	if engine.UnderWay < 2 || engine.Workers != 100 {
		t.Errorf("%+v", engine)
	}
}

func TestWithoutAnAnswer(t *testing.T) {
	address, _ := server(t)
	done, _, err := send([]Planned{{0, "GET", address + "/never", nil}, {0, "GET", "http://127.0.0.1:1/", nil}}, options)
	if err != nil {
		t.Fatal(err)
	}
	if done[0].Status != 0 || !isTime(&done[0]) || done[0].EndedNs < 300_000_000 {
		t.Errorf("%+v", done[0])
	}
	if done[1].Status != 0 || isTime(&done[1]) || !strings.Contains(done[1].Error, "refused") {
		t.Errorf("%+v", done[1])
	}
}

func TestBusyWorkersAreSeenAndMakeRequestsLate(t *testing.T) {
	address, _ := server(t)
	schedule := []Planned{{0, "GET", address + "/slow", nil}, {0, "GET", address + "/slow", nil}}
	done, engine, err := send(schedule, Options{Timeout: time.Second, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	if engine.UnderWay != 1 || done[1].SentNs-done[1].DueNs < 100_000_000 {
		t.Errorf("%+v %+v", engine, done)
	}
}

func TestSchedulesAreRefused(t *testing.T) {
	for text, says := range map[string]string{
		`{"due_ns":2,"url":"x"}` + "\n" + `{"due_ns":1,"url":"x"}`: "request 2 of the schedule: due before",
		`{"due_ns":"soon"}`: "request 1 of the schedule",
	} {
		if _, err := read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, _, err := send([]Planned{{0, "G T", "http://x/", nil}}, options); err == nil {
		t.Error("a method with a blank was taken")
	}
}

func TestHistogramsAreRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "latency.hlog")
	done := []Done{
		{DueNs: 0, SentNs: 1_000_000, EndedNs: 3_000_000, Status: 200},
		{DueNs: 1_500_000_000, SentNs: 1_500_000_000, EndedNs: 1_510_000_000, Status: 200},
		{DueNs: 1_500_000_000, SentNs: 1_500_000_000, EndedNs: 1_500_001_000, Error: "connection refused"},
	}
	if err := writeHistograms(file, 1_795_156_200_000_000_000, done); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	reader := hdr.NewHistogramLogReader(bytes.NewReader(text))
	type seen struct{ count, most int64 }
	found := map[string]seen{}
	for {
		histogram, err := reader.NextIntervalHistogram()
		if err != nil {
			t.Fatal(err)
		}
		if histogram == nil {
			break
		}
		before := found[histogram.Tag()]
		found[histogram.Tag()] = seen{before.count + histogram.TotalCount(), max(before.most, histogram.Max())}
	}
	for tag, expected := range map[string]seen{"lag": {3, 1e6}, "from_sent": {2, 1e7}, "from_scheduled": {2, 1e7}} {
		of := found[tag]
		if of.count != expected.count || float64(of.most) < 0.99*float64(expected.most) || float64(of.most) > 1.01*float64(expected.most) {
			t.Errorf("%s: %+v", tag, of)
		}
	}
}

func TestRealTimeEndsWithTheRun(t *testing.T) {
	address, _ := server(t)
	wanted := options
	wanted.RealTime = true
	_, engine, err := send([]Planned{{0, "GET", address + "/a", nil}}, wanted)
	if err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 && !engine.RealTime {
		t.Log("SKIPPED: the kernel refuses a real-time priority to root")
	}
	threads, _ := filepath.Glob("/proc/self/task/*/stat")
	for _, file := range threads {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		// The 41st field is the policy; the second one, a name in parentheses, may have spaces.
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if fields[38] != "0" {
			t.Errorf("%s has policy %s", file, fields[38])
		}
	}
}
