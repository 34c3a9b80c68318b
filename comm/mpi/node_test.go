//go:build mpi && cgo && linux

package mpi

import (
	"bytes"
	"math"
	"sync/atomic"
	"testing"
	"time"
)

// TestSleep: whoever sleeps is woken by what it waits for, by a goroutine of its own process, and by a notice. It would sleep for
// an hour, and the test for a minute.
func TestSleep(t *testing.T) {
	if job != nil {
		return
	}
	arena := make([]byte, arenaHead+2*cacheLine)
	me, other := seat(arena, 0, 2), seat(arena, 1, 2)
	me.broken, other.broken = new(atomic.Uint32), nil
	other.broken = me.broken
	var word atomic.Uint32
	for i := range uint32(300) {
		poked, known := me.pokes.Load(), me.broken.Load()
		woken := make(chan bool)
		go func() { woken <- me.sleep(&word, i/3, poked, known, int64(time.Hour)) }()
		switch i % 3 {
		case 0:
			me.poke()
		case 1:
			other.alarm()
		case 2:
			word.Add(1)
			other.bell(0).ring()
		}
		select {
		case past := <-woken:
			if past != (i%3 == 2) {
				t.Fatalf("turn %d: the word is past: %v", i, past)
			}
		case <-time.After(time.Minute):
			t.Fatalf("turn %d: still asleep", i)
		}
	}
}

// TestRing: what is left in a ring comes out in its order, around its end and where its counters turn over; what finds no room waits.
func TestRing(t *testing.T) {
	if job != nil {
		return
	}
	const ringed = 4 << 10
	arena := make([]byte, arenaHead+2*cacheLine+4*(ringHeadBytes+ringed))
	from, to := seat(arena, 0, 2), seat(arena, 1, 2)
	for _, n := range []*node{from, to} {
		n.ringed, n.outs = ringed, make([]outgoing, 2)
	}
	r := to.ring(0, 1)
	r.head.Store(math.MaxUint32 - 7)
	r.tail.Store(math.MaxUint32 - 7)
	from.outs[1].head = math.MaxUint32 - 7
	part := func(i int) []byte { return bytes.Repeat([]byte{byte(i), byte(i >> 8)}, i*37%500) }
	const messages = 500
	sent := 0
	for i := range messages {
		for ; sent < messages && sent < i+i%50+1; sent++ {
			b := part(sent)
			from.post(1, &envelope{size: int64(len(b)), serial: int64(sent)}, b)
		}
		var v envelope
		if !r.peek(&v) {
			t.Fatalf("message %d is not there", i)
		}
		got := make([]byte, v.size)
		r.copyOut(r.head.Load()+uint32(envelopeBytes), got)
		r.pop(&v)
		if v.serial != int64(i) || !bytes.Equal(got, part(i)) {
			t.Fatalf("message %d: got %d of %d bytes", i, v.serial, v.size)
		}
		from.flush()
	}
	if from.busy || from.unsent() || r.starved.Load() != 0 {
		t.Error("something is said to wait for room")
	}
}
