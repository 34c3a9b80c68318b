package fti

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"blobio/comm"
	"blobio/internal/base/gf16"
	"blobio/internal/base/vfs"
)

// TestExchange: members with files of different sizes compute copies and parity, and then all files of which few enough are lost.
func TestExchange(t *testing.T) {
	const k = 3
	r := rand.NewChaCha8([32]byte{1})
	files, full := make([][]byte, k), int64(17*piece+1)
	for i, n := range []int64{1, 17*piece - sizeLen + 1, piece + 7} {
		files[i] = make([]byte, n)
		_, _ = r.Read(files[i])
	}
	backups := map[int][][]byte{2: {files[2], files[0], files[1]}, 3: nil}
	for i := range k { // by definition, word by word
		p := make([]byte, full+1)
		for j := range k {
			b := make([]byte, full+1)
			_, _ = (&extended{bytes.NewReader(files[j]), int64(len(files[j])), full, true}).ReadAt(b[:full], 0)
			gf16.NewFactor(gf16.Code(k, i, j)).AddTo(p, b)
		}
		backups[3] = append(backups[3], p[:full])
	}
	for _, c := range []struct {
		level         int
		file, backup  []int // lost
		cannot, fails string
	}{
		{2, nil, []int{0, 1, 2}, "", ""},
		{2, []int{1}, []int{1}, "", ""},
		{2, []int{0}, []int{1}, "the file of rank 0 and its copy on rank 1 are lost", ""},
		{3, nil, []int{0, 1, 2}, "", ""},
		{3, []int{1}, []int{1, 2}, "", ""},
		{3, []int{0, 2}, []int{1}, "", ""},
		{3, []int{0, 2}, []int{1, 2}, "files of 2 of the 3 ranks", ""},
		{3, []int{2}, []int{2}, "", "no cable"},
		{2, []int{2}, nil, "", "copy or parity file of group member 0: byte 1000: unexpected EOF"}, // the copy has become shorter
	} {
		t.Run(fmt.Sprint(c.level, c.file, c.backup), func(t *testing.T) {
			all := make([]share, k)
			for i := range k {
				all[i] = share{Rank: i, File: int64(len(files[i])), Backup: int64(len(backups[c.level][i]))}
				if c.level == 3 {
					all[i].Full = full
				}
			}
			for _, i := range c.file {
				all[i].File = -1
			}
			for _, i := range c.backup {
				all[i].Backup = -1
			}
			tasks, err := plan(c.level, all)
			if c.cannot != "" {
				if err == nil || !strings.Contains(err.Error(), c.cannot) {
					t.Errorf("%v, want %s", err, c.cannot)
				}
				return
			}
			must(t, err)
			if len(tasks) != len(c.file)+len(c.backup) {
				t.Fatalf("%d tasks", len(tasks))
			}
			must(t, comm.Run(context.Background(), k, nil, func(ctx context.Context, g comm.Comm) error {
				me, m := g.Rank(), vfs.NewMem()
				x := &exchange{c: g, tasks: tasks, sources: map[element]io.ReaderAt{}, sinks: map[element]sink{}}
				if all[me].File >= 0 {
					x.sources[element{me, false}] = bytes.NewReader(files[me])
					if c.level == 3 {
						x.sources[element{me, false}] = &extended{bytes.NewReader(files[me]), int64(len(files[me])), full, true}
					}
				}
				if all[me].Backup >= 0 {
					x.sources[element{me, true}] = bytes.NewReader(backups[c.level][me])
				}
				if c.level == 2 && c.fails != "" && me == 0 {
					x.sources[element{0, true}] = bytes.NewReader(backups[2][0][:1000])
				} else if c.fails != "" && me == 0 {
					x.sources[element{0, false}] = readerFunc(func([]byte, int64) (int, error) { return 0, errors.New(c.fails) })
				}
				got := map[element]vfs.File{}
				for _, j := range tasks {
					if j.to.member == me {
						f, err := m.Create(fmt.Sprint(j.to))
						if err != nil {
							return err
						}
						got[j.to], x.sinks[j.to] = f, sink{w: f}
					}
				}
				if err := x.run(ctx); err != nil {
					return err
				}
				if c.fails != "" {
					if (x.err != nil) != (me == 0) || me == 0 && !strings.Contains(x.err.Error(), c.fails) || x.torn != (me == 2) {
						return fmt.Errorf("member %d: %v, %v", me, x.err, x.torn)
					}
					return nil
				}
				for e, f := range got {
					want := backups[c.level][me]
					if !e.backup {
						want = make([]byte, full)
						_, _ = (&extended{bytes.NewReader(files[me]), int64(len(files[me])), full, true}).ReadAt(want, 0)
						if c.level == 2 {
							want = files[me]
						}
					}
					b, err := io.ReadAll(io.NewSectionReader(f, 0, full+10))
					if err != nil || !bytes.Equal(b, want) {
						return fmt.Errorf("%v differs, %d bytes, want %d; %w", e, len(b), len(want), err)
					}
				}
				return x.err
			}))
		})
	}
}

type readerFunc func([]byte, int64) (int, error)

func (f readerFunc) ReadAt(b []byte, off int64) (int, error) { return f(b, off) }

// TestPlanRefuses: sizes of a group that contradict each other are an error, not wrong bytes.
func TestPlanRefuses(t *testing.T) {
	for want, all := range map[string][]share{
		"rank 1 has 30 bytes of parity, other ranks 40":                           {{Rank: 0, File: 10, Backup: 40, Full: 40}, {Rank: 1, File: -1, Backup: 30, Full: 30}},
		"rank 0 has a file of 50 bytes and -1 bytes of parity, want 40":           {{Rank: 0, File: 50, Backup: -1}, {Rank: 1, File: -1, Backup: 40, Full: 40}},
		"rank 0 has a file of 40 bytes and -1 bytes of parity, want 40":           {{Rank: 0, File: 40, Backup: -1}, {Rank: 1, File: -1, Backup: 40, Full: 40}},
		"the ranks 0, ... have 4000000000 bytes of parity, want 48":               {{Rank: 0, File: 40, Backup: -1, Full: 4e9}, {Rank: 1, File: 10, Backup: -1, Full: 4e9}},
		"files of 1 of the 2 ranks 0, ... are lost, but only 0 ranks have parity": {{Rank: 0, File: 50, Backup: -1}, {Rank: 1, File: -1, Backup: -1}},
	} {
		if _, err := plan(3, all); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestGroupOf: the members of a group are on different nodes, wherever the ranks of a node are.
func TestGroupOf(t *testing.T) {
	for _, c := range []struct {
		nodes     string
		ranks, of int
		want      string // group and place of each rank
	}{
		{"a b c d", 1, 4, "00 01 02 03"},
		{"a b c d", 1, 2, "00 01 10 11"},
		{"a a b b", 2, 2, "00 10 01 11"},
		{"a b a b", 2, 2, "00 01 10 11"},
		{"b b a c c a d d", 2, 2, "00 10 01 20 30 11 21 31"},
		{"a a b b", 1, 2, "node a has 2 ranks, want 1 as in node_size"},
		{"a a a a", 4, 1, "group_size is 1, want at least 2"},
	} {
		nodes, got := strings.Fields(c.nodes), []string(nil)
		for rank := range nodes {
			group, place, err := groupOf(nodes, rank, c.ranks, c.of)
			if err != nil {
				got = []string{err.Error()}
				break
			}
			got = append(got, fmt.Sprintf("%d%d", group, place))
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: %s, want %s", c.nodes, s, c.want)
		}
	}
}
