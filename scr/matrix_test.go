package scr

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"strings"
	"sync"
	"testing"

	"blobio/internal/base/vfs"
)

var errKilled = errors.New("killed")

// killer kills all ranks when any rank reaches a step of the protocol for the n-th time.
type killer struct {
	step string
	n    int
	mu   sync.Mutex
	dead bool
}

func (k *killer) hook(_ int, step string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.dead {
		return errKilled
	}
	if step == k.step {
		if k.n--; k.n <= 0 {
			k.dead = true
			return errKilled
		}
	}
	return nil
}

// progress records how far a run got, according to its ranks.
type progress struct {
	mu      sync.Mutex
	began   int // newest checkpoint that was begun
	done    int // newest checkpoint for which Complete returned nil on a rank
	flushed int // newest checkpoint for which Complete returned nil and a flush was due
}

// scene holds the nodes that are lost with a run, and the node of each rank in the next run.
type scene struct {
	name  string
	lost  []string
	nodes []string
}

var scenes = []scene{
	{"same nodes", nil, []string{"node0", "node1", "node2", "node3"}},
	{"ranks moved", nil, []string{"node2", "node0", "node3", "node1"}},
	{"one lost, spare node", []string{"node1"}, []string{"node0", "spare1", "node2", "node3"}},
	{"one lost, ranks moved", []string{"node3"}, []string{"node1", "node2", "node0", "spare1"}},
	{"one lost, fewer nodes", []string{"node2"}, []string{"node0", "node1", "node3", "node3"}},
	{"two lost, spare nodes", []string{"node0", "node2"}, []string{"spare1", "node1", "spare2", "node3"}},
	{"two neighbours lost, fewer nodes", []string{"node1", "node2"}, []string{"node0", "node0", "node3", "node3"}},
	{"all lost, spare nodes", []string{"node0", "node1", "node2", "node3"}, []string{"a", "b", "c", "d"}},
	{"all lost, fewer nodes", []string{"node0", "node1", "node2", "node3"}, []string{"a", "a", "a", "b"}},
}

// survives reports whether the caches of the remaining nodes can restore a checkpoint of four nodes.
func survives(scheme string, lost []string) bool {
	switch scheme {
	case "SINGLE":
		return len(lost) == 0
	case "XOR":
		return len(lost) <= 1
	case "RS":
		return len(lost) <= 2
	}
	gone := map[byte]bool{}
	for _, n := range lost {
		gone[n[len(n)-1]-'0'] = true
	}
	for n := range gone {
		if gone[(n+1)%4] {
			return false // the lost partner had the copy
		}
	}
	return true
}

// The program takes five checkpoints, and flushes the checkpoints 2 and 4.
const (
	matrixLast  = 5
	matrixFlush = 2
)

func (cl *cluster) matrixRun(p *progress) error {
	return cl.run(func(ctx context.Context, s *Session, rank int) error {
		n, err := cl.read(ctx, s, rank)
		if err != nil {
			return err
		}
		for n++; n <= matrixLast; n++ {
			p.mu.Lock()
			p.began = max(p.began, n)
			p.mu.Unlock()
			if err := cl.write(ctx, s, rank, n); err != nil {
				return err
			}
			p.mu.Lock()
			p.done = max(p.done, n)
			if n%matrixFlush == 0 {
				p.flushed = max(p.flushed, n)
			}
			p.mu.Unlock()
		}
		return s.Close(ctx)
	})
}

// least returns the lowest number of a checkpoint that the restart may find.
func (p *progress) least(scheme string, lost []string) int {
	if survives(scheme, lost) {
		return p.done
	}
	return p.flushed
}

// power determines what happens to data that are not synced.
type power struct {
	name string
	cut  func(*vfs.Mem) *vfs.Mem
}

var powers = []power{
	{"killed", func(m *vfs.Mem) *vfs.Mem { return m }},
	{"power loss", func(m *vfs.Mem) *vfs.Mem { return m.CrashClone(vfs.CrashOptions{}) }},
	{"power loss, torn", func(m *vfs.Mem) *vfs.Mem {
		return m.CrashClone(vfs.CrashOptions{Rand: rand.New(rand.NewSource(1))})
	}},
}

// TestFailureMatrix kills the run at each step of the protocol with each scheme, loses nodes, moves the ranks, and restarts. The
// restart must find the newest available checkpoint with its own bytes (read checks them), and the run must continue to the end.
func TestFailureMatrix(t *testing.T) {
	long := os.Getenv("BLOBIO_LONG") != ""
	steps := []struct {
		step string
		n    int
	}{
		{"start", 13}, {"delete", 5}, {"route", 26}, {"write", 27}, {"complete", 14}, {"encode", 13}, {"encode", 16}, {"commit", 13}, {"commit", 16},
		{"flush", 5}, {"copy", 6}, {"copy", 8}, {"map", 2}, {"summary", 2}, {"index", 2}, {"flushed", 5}, {"start", 17}, {"write", 40}, {"commit", 20},
	}
	runs, i := 0, 0
	for _, scheme := range []string{"SINGLE", "PARTNER", "XOR", "RS"} {
		for _, at := range steps {
			for _, sc := range scenes {
				for _, pw := range powers {
					i++
					if !long && i%251 != 0 {
						continue
					}
					runs++
					ok := t.Run(strings.ReplaceAll(fmt.Sprintf("%s/%s %d/%s/%s", scheme, at.step, at.n, sc.name, pw.name), " ", "_"), func(t *testing.T) {
						cl := fourNodes(t).set("SCR_COPY_TYPE", scheme, "SCR_FLUSH", fmt.Sprint(matrixFlush))
						k := &killer{step: at.step, n: at.n}
						cl.hook = k.hook
						var p progress
						if err := cl.matrixRun(&p); !errors.Is(err, errKilled) {
							t.Fatalf("the run was not killed: %v", err)
						}
						next := cl.on(sc.nodes...)
						next.hook = nil
						next.fs = pw.cut(cl.fs.(*vfs.Mem))
						next.t = t
						next.lose(sc.lost...)
						n, err := next.restart()
						must(t, err)
						if least := p.least(scheme, sc.lost); n < least || n > p.began {
							t.Fatalf("restarted from %d; checkpoint %d was begun, %d had to be found", n, p.began, least)
						}
						var q progress
						must(t, next.matrixRun(&q))
						next.lose("node0", "node1", "node2", "node3", "spare1", "spare2", "a", "b", "c", "d")
						next.mustRestart(matrixLast)
					})
					if !ok && testing.Short() {
						return
					}
				}
			}
		}
	}
	t.Logf("%d runs", runs)
}

// TestKilledRestart loses a node in a crash, and kills the restart at each of its steps. Then it restarts again.
func TestKilledRestart(t *testing.T) {
	long, i := os.Getenv("BLOBIO_LONG") != "", 0
	for _, scheme := range []string{"PARTNER", "XOR", "RS"} {
		for _, c := range []struct {
			lost  []string
			nodes []string
			want  int
			steps []string
		}{
			{[]string{"node1"}, []string{"node2", "spare1", "node0", "node3"}, 5, []string{"distribute", "distributed", "rebuild", "restart", "delete"}},
			{[]string{"node0", "node1", "node2"}, []string{"a", "b", "c", "node3"}, 4, []string{"distribute", "fetch", "fetch copy", "encode", "commit", "fetched", "restart", "delete"}},
		} {
			for _, step := range c.steps {
				for _, pw := range powers {
					if i++; !long && i%29 != 0 {
						continue
					}
					t.Run(strings.ReplaceAll(fmt.Sprintf("%s/%s/%d_lost/%s", scheme, step, len(c.lost), pw.name), " ", "_"), func(t *testing.T) {
						cl := fourNodes(t).set("SCR_COPY_TYPE", scheme, "SCR_FLUSH", fmt.Sprint(matrixFlush))
						must(t, cl.checkpoints(1, matrixLast))
						cl.lose(c.lost...)
						next := cl.on(c.nodes...)
						for n := 1; ; n++ {
							k := &killer{step: step, n: n}
							next.hook = k.hook
							got, err := next.restart()
							if err == nil {
								if got != c.want {
									t.Fatalf("restarted from %d, want %d", got, c.want)
								}
								if n == 1 && step != "delete" {
									t.Fatalf("step %q was not reached", step)
								}
								break
							}
							if !errors.Is(err, errKilled) {
								t.Fatal(err)
							}
							next.fs = pw.cut(next.fs.(*vfs.Mem))
						}
						next.hook = nil
						next.mustRestart(c.want)
					})
				}
			}
		}
	}
}
