package main

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"
)

// The name of the toxic below among Toxiproxy's own. Their `latency` delays each piece by a number of ms with a uniform jitter;
// this one delays each answer by a time of a given distribution.
const paceToxic = "pace"

func init() { toxics.Register(paceToxic, new(paceOf)) }

// pace is how long the answers of a fake take. An answer is kept until its time since the request is over; one of an upstream
// that takes longer goes on at once.
type pace struct {
	number  int
	timesNs []int64

	lock    sync.Mutex
	answers int64
	slower  int64
	lates   []int64
	// Of the connection whose requests have a link already, and whose answers have none yet.
	newest *exchange
}

// Toxiproxy makes a toxic out of JSON, which cannot hold a pace: it has its number.
var (
	pacesLock sync.Mutex
	paces     []*pace
)

func newPace(timesNs []int64) *pace {
	pacesLock.Lock()
	defer pacesLock.Unlock()
	made := &pace{number: len(paces), timesNs: timesNs}
	paces = append(paces, made)
	return made
}

// draw takes a time at random, between two quantiles in proportion.
func (of *pace) draw() time.Duration {
	if len(of.timesNs) == 0 {
		return 0
	}
	place := rand.Float64() * float64(len(of.timesNs)-1)
	from := int(place)
	to := min(from+1, len(of.timesNs)-1)
	part := place - float64(from)
	return time.Duration(float64(of.timesNs[from])*(1-part) + float64(of.timesNs[to])*part)
}

// answered counts an answer whose upstream took longer than it was to take.
func (of *pace) answered(upstreamSlower bool) {
	of.lock.Lock()
	defer of.lock.Unlock()
	of.answers++
	if upstreamSlower {
		of.slower++
	}
}

// kept counts an answer that was kept until it was due.
func (of *pace) kept(due time.Time) {
	late := int64(time.Since(due))
	of.lock.Lock()
	defer of.lock.Unlock()
	of.answers++
	of.lates = append(of.lates, late)
}

func (of *pace) done() FakeDone {
	of.lock.Lock()
	defer of.lock.Unlock()
	done := FakeDone{Answers: of.answers, UpstreamSlower: of.slower}
	if len(of.lates) > 0 {
		slices.Sort(of.lates)
		done.LateP99Ns = of.lates[(len(of.lates)*99+99)/100-1]
	}
	return done
}

// exchange is what both directions of a connection know of each other.
type exchange struct {
	requests bool // whether the link is the one of the requests
	shared   *asked
}

// asked is when the last piece of a request went by that has no answer yet.
type asked struct {
	lock sync.Mutex
	at   time.Time
}

func (of *asked) now() {
	of.lock.Lock()
	defer of.lock.Unlock()
	of.at = time.Now()
}

// taken gives the time once; later pieces of the answer get none.
func (of *asked) taken() (time.Time, bool) {
	of.lock.Lock()
	defer of.lock.Unlock()
	at := of.at
	of.at = time.Time{}
	return at, !at.IsZero()
}

// paceOf is the toxic: one for each direction of a fake.
type paceOf struct {
	Number int `json:"number"`
}

// GetBufferSize lets answers wait without holding up what reads them.
func (*paceOf) GetBufferSize() int { return 1024 }

// NewState is asked for once for each direction of a connection. Toxiproxy makes the links of one connection after the other, and
// that of the requests first.
func (toxic *paceOf) NewState() any {
	pace := toxic.pace()
	pace.lock.Lock()
	defer pace.lock.Unlock()
	if pace.newest == nil {
		pace.newest = &exchange{requests: true, shared: &asked{}}
		return pace.newest
	}
	answers := &exchange{shared: pace.newest.shared}
	pace.newest = nil
	return answers
}

func (toxic *paceOf) pace() *pace {
	pacesLock.Lock()
	defer pacesLock.Unlock()
	return paces[toxic.Number]
}

// Pipe passes on what comes, until the connection ends.
func (toxic *paceOf) Pipe(stub *toxics.ToxicStub) {
	pace, link := toxic.pace(), stub.State.(*exchange)
	for {
		select {
		case <-stub.Interrupt:
			return
		case piece := <-stub.Input:
			switch {
			case piece == nil:
				stub.Close()
				return
			case link.requests:
				link.shared.now()
			default:
				pace.wait(link.shared, piece)
			}
			stub.Output <- piece
		}
	}
}

// wait keeps the first piece of an answer until it is due. An interrupt waits as well: Pipe has to see it and return.
func (of *pace) wait(shared *asked, piece *stream.StreamChunk) {
	at, isFirst := shared.taken()
	if !isFirst {
		return
	}
	due := at.Add(of.draw())
	if !piece.Timestamp.Before(due) {
		of.answered(len(of.timesNs) > 0)
		return
	}
	time.Sleep(time.Until(due))
	of.kept(due)
}
