package main

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// ask gets a path of a fake, and says how long it took.
func ask(t *testing.T, client *http.Client, address string) (string, time.Duration) {
	t.Helper()
	began := time.Now()
	answer, err := client.Get("http://" + address + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body), time.Since(began)
}

func started(t *testing.T, fakes ...Fake) *running {
	t.Helper()
	all, err := startFakes(fakes)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(all.stop)
	return all
}

const fortyMs = 40_000_000

func TestEachAnswerTakesItsTimeOnceHoweverLongItIs(t *testing.T) {
	long := strings.Repeat("x", 1_000_000)
	upstream := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) { _, _ = out.Write([]byte(long)) }))
	t.Cleanup(upstream.Close)
	all := started(t, Fake{Listen: "127.0.0.1:0", Upstream: upstream.Listener.Addr().String(), TimesNs: []int64{fortyMs, fortyMs}})
	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}}
	for range 3 {
		body, took := ask(t, client, all.addresses()[0])
		if body != long || took < 40*time.Millisecond {
			t.Errorf("%d bytes after %v", len(body), took)
		}
	}
	if done := all.done()[0]; done.Answers != 3 || done.UpstreamSlower != 0 {
		t.Errorf("%+v", done)
	}
}

func TestAnUpstreamThatIsSlowerIsCounted(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(40 * time.Millisecond) }))
	t.Cleanup(upstream.Close)
	address := upstream.Listener.Addr().String()
	all := started(t, Fake{Listen: "127.0.0.1:0", Upstream: address, TimesNs: []int64{1, 2}}, Fake{Listen: "127.0.0.1:0", Upstream: address})
	for _, fake := range all.addresses() {
		ask(t, http.DefaultClient, fake)
	}
	if done := all.done(); done[0] != (FakeDone{Answers: 1, UpstreamSlower: 1}) || done[1] != (FakeDone{Answers: 1}) {
		t.Errorf("%+v", done)
	}
}

func TestBandwidthIsLimited(t *testing.T) {
	all := started(t, Fake{Listen: "127.0.0.1:0", Body: strings.Repeat("x", 50_000), KBPerSecond: 500})
	body, took := ask(t, http.DefaultClient, all.addresses()[0])
	// The last piece may come early by what the pieces before it came late.
	if len(body) != 50_000 || took < 50*time.Millisecond {
		t.Errorf("%d bytes after %v", len(body), took)
	}
}

func TestFakesRunUntilTheInputEnds(t *testing.T) {
	in, out := io.Pipe()
	said, says := io.Pipe()
	ended := make(chan error)
	go func() { ended <- runFakes(in, says) }()
	go func() { _, _ = out.Write([]byte(`[{"listen":"127.0.0.1:0","body":"hello"}]` + "\n")) }()
	answers := json.NewDecoder(said)
	var addresses []string
	if err := answers.Decode(&addresses); err != nil {
		t.Fatal(err)
	}
	if body, _ := ask(t, http.DefaultClient, addresses[0]); body != "hello" {
		t.Error(body)
	}
	_ = out.Close()
	var done []FakeDone
	if err := answers.Decode(&done); err != nil || len(done) != 1 || done[0].Answers != 1 {
		t.Errorf("%v %v", done, err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if connection, err := net.Dial("tcp", addresses[0]); err == nil {
		_ = connection.Close()
		t.Error("it still listens")
	}
}

func TestAPortThatIsTakenIsNamed(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	address := taken.Addr().String()
	if _, err := startFakes([]Fake{{Listen: "127.0.0.1:0"}, {Listen: address}}); err == nil || !strings.Contains(err.Error(), address) {
		t.Error(err)
	}
}

func TestTimesAreDrawnFromTheirDistribution(t *testing.T) {
	const draws = 10_000
	// Three quarters below 10, a quarter up to 1,000.
	pace := newPace([]int64{0, 4, 8, 10, 1_000})
	short := 0
	for range draws {
		switch drawn := pace.draw(); {
		case drawn < 0 || drawn > 1_000:
			t.Fatal(drawn)
		case drawn <= 10:
			short++
		}
	}
	if short < draws*73/100 || short > draws*77/100 {
		t.Errorf("%d of %d", short, draws)
	}
	if drawn := newPace([]int64{7}).draw(); drawn != 7 {
		t.Error(drawn)
	}
}
