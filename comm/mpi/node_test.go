//go:build mpi && cgo && linux

package mpi

import (
	"sync/atomic"
	"testing"
	"time"
)

// TestYields: processes wait long only if each can have a core.
func TestYields(t *testing.T) {
	for n, want := range map[int]int{1: manyYields, 1 << 20: fewYields} {
		if got := (&node{n: n}).yields(); int(got) != want {
			t.Errorf("%d processes yield %d times, want %d", n, got, want)
		}
	}
}

// TestSleep: a sleeping process wakes when its word changes, when a goroutine of its process pokes it, or when a notice is
// sent. Otherwise the process would sleep for an hour, and the test fails after a minute.
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
