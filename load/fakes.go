package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
)

// Fake stands in for a service that the server under test calls: a proxy in front of another one, or of an answer that is always
// the same.
type Fake struct {
	Listen string `json:"listen"`
	// Where requests go; empty: they are answered here, as HTTP.
	Upstream string `json:"upstream"`
	// The answer where there is no upstream.
	Body string `json:"body"`
	// How long answers take, as quantiles at equal distances; empty: as long as the upstream takes.
	TimesNs []int64 `json:"times_ns"`
	// How many KB a second go each way on a connection; 0: as many as there are.
	KBPerSecond int64 `json:"kb_per_second"`
}

// FakeDone is what a fake did.
type FakeDone struct {
	Answers int64 `json:"answers"`
	// Answers whose upstream took longer than they were to take.
	UpstreamSlower int64 `json:"upstream_slower"`
	// How late the others were, at the 99th percentile.
	LateP99Ns int64 `json:"late_p99_ns"`
}

// runFakes reads fakes from the standard input, says on the standard output where they listen, and ends with what they did when
// the input ends.
func runFakes(in io.Reader, out io.Writer) error {
	decoder := json.NewDecoder(in)
	var wanted []Fake
	if err := decoder.Decode(&wanted); err != nil {
		return fmt.Errorf("fakes: %w", err)
	}
	running, err := startFakes(wanted)
	if err != nil {
		return err
	}
	defer running.stop()
	if err := json.NewEncoder(out).Encode(running.addresses()); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, in); err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(running.done())
}

// running fakes.
type running struct {
	server  *toxiproxy.ApiServer
	proxies []*toxiproxy.Proxy
	paces   []*pace
}

func startFakes(wanted []Fake) (*running, error) {
	// Fathom reads standard error only at the end: the proxy's own log would fill the pipe.
	zerolog.SetGlobalLevel(zerolog.Disabled)
	all := &running{server: toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.New(os.Stderr))}
	for index, fake := range wanted {
		if err := all.start(strconv.Itoa(index), fake); err != nil {
			all.stop()
			return nil, fmt.Errorf("fake %s: %w", fake.Listen, err)
		}
	}
	return all, nil
}

func (all *running) start(name string, fake Fake) error {
	upstream := fake.Upstream
	if upstream == "" {
		address, err := answering(fake.Body)
		if err != nil {
			return err
		}
		upstream = address
	}
	proxy := toxiproxy.NewProxy(all.server, name, fake.Listen, upstream)
	pace := newPace(fake.TimesNs)
	all.proxies, all.paces = append(all.proxies, proxy), append(all.paces, pace)
	for _, stream := range []string{"upstream", "downstream"} {
		if err := add(proxy, paceToxic, stream, map[string]int{"number": pace.number}); err != nil {
			return err
		}
		if fake.KBPerSecond == 0 {
			continue
		}
		if err := add(proxy, "bandwidth", stream, map[string]int64{"rate": fake.KBPerSecond}); err != nil {
			return err
		}
	}
	return proxy.Start()
}

// add puts a toxic on all connections that are to come.
func add(proxy *toxiproxy.Proxy, kind, stream string, attributes any) error {
	text, err := json.Marshal(map[string]any{"type": kind, "stream": stream, "attributes": attributes})
	if err != nil {
		return err
	}
	_, err = proxy.Toxics.AddToxicJson(bytes.NewReader(text))
	return err
}

// answering gives the address of a server that answers each request of HTTP with the same body.
func answering(body string) (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	answer := []byte(body)
	handler := http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		_, _ = io.Copy(io.Discard, in.Body)
		_, _ = out.Write(answer)
	})
	go func() { _ = http.Serve(listener, handler) }()
	return listener.Addr().String(), nil
}

func (all *running) addresses() []string {
	addresses := []string{}
	for _, proxy := range all.proxies {
		addresses = append(addresses, proxy.Listen)
	}
	return addresses
}

func (all *running) done() []FakeDone {
	done := []FakeDone{}
	for _, pace := range all.paces {
		done = append(done, pace.done())
	}
	return done
}

func (all *running) stop() {
	for _, proxy := range all.proxies {
		proxy.Stop()
	}
}
