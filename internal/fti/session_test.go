package fti

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"blobio/comm"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// TestLevels: a run restarts from each level, full and differential. From levels 2 to 4 it also restarts after the loss of a
// node.
func TestLevels(t *testing.T) {
	for level := 1; level <= 2*levels; level++ {
		for _, lost := range []string{"", "Local/node1", "Local/node0 Local/node2"} {
			base := (level-1)%levels + 1
			if lost != "" && base == 1 || strings.Contains(lost, " ") && base < 3 {
				continue
			}
			t.Run(fmt.Sprint(level, lost), func(t *testing.T) {
				m := disk(t, "")
				for run := range 3 {
					must(t, job(m, func(ctx context.Context, c comm.Comm, s *Session) error {
						got, err := recovered(ctx, c, s)
						if err == nil && got != 3*run {
							err = fmt.Errorf("run %d begins after step %d", run, got)
						}
						for step := 3*run + 1; step <= 3*run+3 && err == nil; step++ {
							err = write(ctx, c, s, step, int32(step), level)
						}
						return err
					}))
					for _, dir := range strings.Fields(lost) {
						must(t, vfs.RemoveAll(m, dir))
					}
				}
			})
		}
	}
}

// TestSameNumber: a program may give all checkpoints the same number and change levels. The newest counts.
func TestSameNumber(t *testing.T) {
	m := disk(t, "")
	order := []int{4, 1, 2, 1, 3, 8, 1, 4, 2, 2}
	for step, level := range order {
		must(t, job(m, func(ctx context.Context, c comm.Comm, s *Session) error {
			if got, err := recovered(ctx, c, s); err != nil || got != step {
				return fmt.Errorf("before step %d: %d, %w", step+1, got, err)
			}
			return write(ctx, c, s, step+1, 5, level)
		}))
	}
	must(t, vfs.RemoveAll(m, "Local"))
	if got, err := stepOf(m); err != nil || got != 8 {
		t.Errorf("from level 4: step %d, %v", got, err)
	}
}

// TestDamage: if a file of level 1 is damaged, all ranks restart from the level above, with its sizes. A damaged file of level 3 is
// rebuilt.
func TestDamage(t *testing.T) {
	for upper, want := range map[int]int{3: 1, 4: 1} {
		m := disk(t, "")
		must(t, job(m, func(ctx context.Context, c comm.Comm, s *Session) error {
			return errors.Join(write(ctx, c, s, 1, 1, upper), write(ctx, c, s, 2, 2, 1))
		}))
		flip(t, m, "Local/node2/*/l1/Ckpt2-Rank2.fti")
		if upper == 3 {
			flip(t, m, "Local/node1/*/l3/Ckpt1-Rank1.fti")
		}
		if got, err := stepOf(m); err != nil || got != want {
			t.Errorf("level %d above: step %d, %v", upper, got, err)
		}
	}
	m := disk(t, "")
	must(t, job(m, func(ctx context.Context, c comm.Comm, s *Session) error { return write(ctx, c, s, 1, 1, 1) }))
	flip(t, m, "Local/node0/*/l1/Ckpt1-Rank0.fti")
	if _, err := stepOf(m); !errors.Is(err, ErrNothing) {
		t.Errorf("nothing else: %v", err)
	}
}

// TestSomeRecover: some ranks call Recover, the others ReadVar, and one tries sizes that do not match.
func TestSomeRecover(t *testing.T) {
	m := disk(t, "")
	must(t, job(m, func(ctx context.Context, c comm.Comm, s *Session) error { return write(ctx, c, s, 2, 2, 1) }))
	must(t, job(m, func(ctx context.Context, c comm.Comm, s *Session) error {
		want, got := memory(c.Rank(), 2), memory(c.Rank(), 0)
		if err := protect(s, got); err != nil {
			return err
		}
		if c.Rank() == 2 && s.Recover(ctx) == nil {
			return errors.New("recovered to other sizes")
		}
		got[7] = make([]byte, len(want[7]))
		err := protect(s, got)
		for id := range got {
			if c.Rank()%2 == 1 {
				err = errors.Join(err, s.ReadVar(ctx, id))
			}
		}
		if c.Rank()%2 == 0 {
			err = errors.Join(err, s.Recover(ctx))
		}
		for id := range got {
			if !bytes.Equal(got[id], want[id]) {
				err = errors.Join(err, fmt.Errorf("rank %d: variable %d differs", c.Rank(), id))
			}
		}
		return errors.Join(err, write(ctx, c, s, 3, 3, 1))
	}))
	if got, err := stepOf(m); err != nil || got != 3 {
		t.Errorf("step %d, %v", got, err)
	}
}

// TestProtectAgain: if redundancy files are lost, a restart writes them again, so that the next restart survives the loss of
// a node.
func TestProtectAgain(t *testing.T) {
	for level := 2; level <= 3; level++ {
		for _, nodes := range []string{"1", "0123", "23"} {
			m := disk(t, "")
			must(t, job(m, func(ctx context.Context, c comm.Comm, s *Session) error { return write(ctx, c, s, 1, 1, level) }))
			local, err := m.ReadDir("Local/node0")
			must(t, err)
			for _, n := range nodes {
				dir := fmt.Sprintf("Local/node%c/%s/l%d", n, local[0].Name(), level)
				list, err := m.ReadDir(dir)
				must(t, err)
				for _, e := range list {
					if strings.Contains(e.Name(), string(backupOf(level))) {
						must(t, m.Remove(filepath.Join(dir, e.Name())))
					}
				}
			}
			for range 2 {
				if got, err := stepOf(m); err != nil || got != 1 {
					t.Errorf("level %d, redundancy of nodes %s lost: step %d, %v", level, nodes, got, err)
				}
				must(t, vfs.RemoveAll(m, "Local/node2"))
			}
		}
	}
}

// flip changes a byte of the data of a file.
func flip(t *testing.T, m *vfs.Mem, pattern string) {
	t.Helper()
	dir, err := m.ReadDir(strings.Split(pattern, "/*/")[0])
	must(t, err)
	f, err := m.OpenRW(strings.Replace(pattern, "*", dir[0].Name(), 1))
	must(t, err)
	var b [1]byte
	_, err = f.ReadAt(b[:], 900)
	must(t, err)
	b[0]++
	_, err = f.WriteAt(b[:], 900)
	must(t, err)
	must(t, f.Close())
}

// TestClose: after the end of a run only the files that the configuration keeps remain.
func TestClose(t *testing.T) {
	for _, c := range []struct {
		more    string
		failure int
		step    int
		left    string
	}{
		{"", 0, 0, ""},
		{"keep_last_ckpt = 1", 2, 3, "l4/Ckpt3-Rank1.fti"},
		{"keep_l4_ckpt = 1", 0, 0, "l4_archive/Ckpt1-Rank1.fti l4_archive/Ckpt2-Rank1.fti"},
	} {
		m := disk(t, c.more)
		must(t, job(m, func(ctx context.Context, k comm.Comm, s *Session) error {
			err := errors.Join(write(ctx, k, s, 1, 1, 8), write(ctx, k, s, 2, 2, 8), write(ctx, k, s, 3, 3, 1))
			return errors.Join(err, s.Close(ctx))
		}))
		text, err := vfs.ReadFile(m, "config", 1<<20)
		must(t, err)
		cfg, err := ParseConfig(text, "config", ranks)
		must(t, err)
		if cfg.Failure != c.failure || !strings.Contains(string(text), "# 1 in a restart") {
			t.Errorf("%q: the configuration is\n%s", c.more, text)
		}
		for _, name := range strings.Fields(c.left) {
			if _, err := m.Stat(filepath.Join("Global", cfg.ExecID, name)); err != nil {
				t.Errorf("%q: %v", c.more, err)
			}
		}
		if list, err := m.ReadDir(filepath.Join("Global", cfg.ExecID, "l4")); err == nil && len(list) != ranks {
			t.Errorf("%q: level 4 has %v", c.more, list)
		}
		for _, dir := range []string{"Local/node0", "Local/node3", "Global", "Meta"} {
			if list, err := m.ReadDir(dir); err != nil || len(list) > 0 && (c.left == "" || strings.HasPrefix(dir, "Local")) {
				t.Errorf("%q: %s has %v, %v", c.more, dir, list, err)
			}
		}
		if got, err := stepOf(m); err != nil || got != c.step {
			t.Errorf("%q: the next run begins after step %d, %v", c.more, got, err)
		}
	}
}

// TestAbandon: a program abandons its run and begins again. A run without checkpoint leaves nothing; a run with one restarts,
// although an incremental checkpoint has begun.
func TestAbandon(t *testing.T) {
	m := disk(t, "")
	must(t, job(m, func(ctx context.Context, c comm.Comm, s *Session) error { return s.Abandon(ctx) }))
	if list, err := m.ReadDir("Meta"); err != nil || len(list) > 0 {
		t.Errorf("left: %v, %v", list, err)
	}
	must(t, job(m, func(ctx context.Context, c comm.Comm, s *Session) error {
		return errors.Join(write(ctx, c, s, 1, 1, 1), s.Begin(ctx, 2, 1), s.Abandon(ctx))
	}))
	if got, err := stepOf(m); err != nil || got != 1 {
		t.Errorf("step %d, %v", got, err)
	}
}

// TestOneDirectory: kept checkpoints stay, even if the local, the global and the metadata directory are the same.
func TestOneDirectory(t *testing.T) {
	for more, want := range map[string]string{"keep_last_ckpt = 1": "l4/Ckpt2-Rank1.fti", "keep_l4_ckpt = 1": "l4_archive/Ckpt1-Rank1.fti", "": ""} {
		m := disk(t, more)
		text, err := vfs.ReadFile(m, "config", 1<<20)
		must(t, err)
		all := strings.NewReplacer("Local\t", "All\t", "Global", "All", "Meta\"", "All\"", "Local_test = 1", "Local_test = 0").Replace(string(text))
		must(t, m.Remove("config"))
		must(t, vfs.WriteFile(m, "config", []byte(all)))
		must(t, job(m, func(ctx context.Context, c comm.Comm, s *Session) error {
			return errors.Join(write(ctx, c, s, 1, 1, 4), write(ctx, c, s, 2, 2, 1), s.Close(ctx))
		}))
		list, err := m.ReadDir("All")
		must(t, err)
		if want == "" {
			if len(list) > 0 {
				t.Errorf("left: %v", list)
			}
			continue
		}
		if _, err := m.Stat(filepath.Join("All", list[0].Name(), want)); err != nil {
			t.Errorf("%q: %v", more, err)
		}
	}
}

// TestOtherRanks: a restart on fewer ranks is refused, although there is a file for each of them; also if the run began as a
// restart that found nothing.
func TestOtherRanks(t *testing.T) {
	m := disk(t, "group_size = 1")
	must(t, job(m, func(ctx context.Context, c comm.Comm, s *Session) error { return write(ctx, c, s, 1, 1, 4) }))
	for _, dir := range []string{"Local", "Global", "Meta"} {
		must(t, vfs.RemoveAll(m, dir))
	}
	must(t, comm.Run(context.Background(), ranks, nil, func(ctx context.Context, c comm.Comm) error {
		s, err := Open(ctx, c, "config", &Options{FS: m})
		if !errors.Is(err, ErrNothing) {
			return fmt.Errorf("a restart from nothing: %w", err)
		}
		return errors.Join(write(ctx, c, s, 1, 1, 4), s.release())
	}))
	err := comm.Run(context.Background(), 2, nil, func(ctx context.Context, c comm.Comm) error {
		_, err := Open(ctx, c, "config", &Options{FS: m})
		return err
	})
	if !errors.Is(err, fault.ErrUsage) || !strings.Contains(fmt.Sprint(err), "4 ranks") {
		t.Errorf("2 of 4 ranks: %v", err)
	}
	if got, err := stepOf(m); err != nil || got != 1 {
		t.Errorf("then on 4 ranks: step %d, %v", got, err)
	}
}

// TestKeepDamaged: a damaged checkpoint does not replace an older one. The run ends with an error, and the next run restarts.
func TestKeepDamaged(t *testing.T) {
	m := disk(t, "keep_last_ckpt = 1")
	must(t, job(m, func(ctx context.Context, c comm.Comm, s *Session) error {
		if err := errors.Join(write(ctx, c, s, 1, 1, 4), write(ctx, c, s, 4, 2, 1)); err != nil {
			return err
		}
		if c.Rank() == 2 {
			flip(t, m, "Local/node2/*/l1/Ckpt2-Rank2.fti")
		}
		if err := s.Close(ctx); !errors.Is(err, fault.ErrChecksum) {
			return fmt.Errorf("close: %w", err)
		}
		return nil
	}))
	if got, err := stepOf(m); err != nil || got != 1 {
		t.Errorf("step %d, %v", got, err)
	}
}

// TestReturned: of two checkpoints of a level the newer one counts, even if an older one from a returned node has a higher number.
func TestReturned(t *testing.T) {
	older, newer := key{2, 9, 1}, key{2, 3, 2}
	away := holding{Files: []copyOf{{Key: older, Time: 1000}}, Backups: []copyOf{{Key: older}}}
	stayed := holding{Files: []copyOf{{Key: newer, Time: 2000}}, Backups: []copyOf{{Key: newer}}}
	for _, all := range [][]holding{{away, stayed}, {stayed, away}} {
		if list := candidates(all, stamps{}); len(list) != 2 || list[0].key != newer {
			t.Errorf("%+v", list)
		}
	}
}

// TestReturnedNode: a node returns with an older checkpoint, which could be rebuilt. The restart takes the newer one, although the
// low bits of its time, which its files have, are smaller.
func TestReturnedNode(t *testing.T) {
	m := disk(t, "node_size = 2\ngroup_size = 2")
	now := time.Unix(0, 5<<32-int64(time.Second))
	older := map[string][]byte{}
	at := map[string]vfs.Meta{}
	must(t, comm.Run(context.Background(), ranks, nil, func(ctx context.Context, c comm.Comm) error {
		s, err := Open(ctx, c, "config", &Options{FS: m, Clock: func() time.Time { return now }})
		if err != nil {
			return err
		}
		if err = errors.Join(write(ctx, c, s, 1, 1, 2), c.Barrier(ctx)); c.Rank() == 2 && err == nil {
			list, lerr := m.ReadDir(s.p.level(2))
			err = lerr
			for _, e := range list {
				name := filepath.Join(s.p.level(2), e.Name())
				b, rerr := vfs.ReadFile(m, name, 1<<20)
				meta, merr := m.FileMeta(name)
				older[name], at[name] = b, meta
				err = errors.Join(err, rerr, merr)
			}
			now = now.Add(2 * time.Second)
		}
		err = errors.Join(err, c.Barrier(ctx), write(ctx, c, s, 2, 2, 2))
		s.last.close()
		return errors.Join(err, s.release())
	}))
	for name, b := range older {
		list, err := m.ReadDir(filepath.Dir(name))
		must(t, err)
		for _, e := range list {
			if strings.HasPrefix(e.Name(), "Ckpt2") {
				must(t, m.Remove(filepath.Join(filepath.Dir(name), e.Name())))
			}
		}
		must(t, errors.Join(vfs.WriteFile(m, name, b), m.SetFileMeta(name, at[name])))
	}
	if got, err := stepOf(m); err != nil || got != 2 || len(older) != ranks {
		t.Errorf("step %d, %v, with %d older files", got, err, len(older))
	}
}

// TestOrder: the order of checkpoints does not depend on the order in which they are found. FTI's differential checkpoint comes
// before the first checkpoint with a lower number. If FTI continued a run, its checkpoints come before an older one whose commit was
// interrupted.
func TestOrder(t *testing.T) {
	for _, want := range [][]copyOf{
		{{Key: key{4, 5, 0}, Diff: true}, {Key: key{1, 3, 1}, Time: 3}, {Key: key{2, 7, 2}, Time: 2}},
		{{Key: key{4, 5, 1}, Time: 5}, {Key: key{4, 3, 2}, Time: 3}, {Key: key{4, 9, 0}}, {Key: key{4, 4, 0}}},
		{{Key: key{4, 1, 1}, Fresh: true, Time: 1}, {Key: key{1, 8, 1}, Time: 9}, {Key: key{4, 8, 0}, Diff: true}, {Key: key{4, 2, 0}}},
		{{Key: key{1, 9, 0}, Time: 6}, {Key: key{2, 7, 1}, Fresh: true, Time: 5}},
		{{Key: key{2, 7, 1}, Fresh: true, Time: 5}, {Key: key{1, 9, 0}, Time: 4}},
	} {
		for i := range want {
			turned := slices.Concat(want[i:], want[:i])
			slices.Reverse(turned[1:])
			for j, c := range candidates([]holding{{Files: turned}}, stamps{}) {
				if c.key != want[j].Key || c.diff != want[j].Diff {
					t.Errorf("%v: place %d has %v", turned, j, c.key)
				}
			}
		}
	}
}

// TestParts: variables are added one by one. If a variable is missing, there is no checkpoint on any rank.
func TestParts(t *testing.T) {
	m := disk(t, "")
	must(t, job(m, func(ctx context.Context, c comm.Comm, s *Session) error {
		for step := 1; step <= 4; step++ {
			if err := protect(s, memory(c.Rank(), step)); err != nil {
				return err
			}
			if err := s.Begin(ctx, int32(step), step); err != nil {
				return err
			}
			for i := range 4 {
				id := []int32{1, 3, 4, 7}[(i+c.Rank())%4]
				if step == 3 && c.Rank() == 2 && id == 3 {
					continue
				}
				if err := s.Add(ctx, id); err != nil {
					return err
				}
			}
			if err := s.Finish(ctx); (err == nil) != (step != 3) {
				return fmt.Errorf("step %d: %w", step, err)
			}
			if step == 3 {
				if err := s.Begin(ctx, 3, 1); err != nil {
					return err
				}
				if err := s.Add(ctx, 99); err == nil {
					return errors.New("variable 99 was added")
				}
				if err := s.Finish(ctx); err == nil {
					return errors.New("a checkpoint after a wrong variable")
				}
				s2 := *s
				if err := s2.Recover(ctx); err == nil { // the sizes have changed
					return errors.New("recovered to other sizes")
				}
			}
		}
		return nil
	}))
	if got, err := stepOf(m); err != nil || got != 4 {
		t.Errorf("step %d, %v", got, err)
	}
}

// TestNames: numbers of named variables equal FTI's. A restart has the names of its own rank, whatever the order of the calls.
func TestNames(t *testing.T) {
	m := disk(t, "keep_l4_ckpt = 1")
	must(t, job(m, func(ctx context.Context, c comm.Comm, s *Session) error {
		if err := s.Protect(1, nil, 0); err != nil {
			return err
		}
		names := []string{"a=1 # x", "b\xff\n"}
		names[0], names[1] = names[c.Rank()%2], names[1-c.Rank()%2]
		a, b := s.SetID(names[0]), s.SetID(names[1])
		if a != 2 || b != 3 || s.ID(names[0]) != a || s.SetID(names[1]) != b || s.ID("c") != -1 {
			return fmt.Errorf("%d, %d, %d", a, b, s.ID(names[0]))
		}
		return s.Checkpoint(ctx, 1, 1)
	}))
	must(t, job(m, func(ctx context.Context, c comm.Comm, s *Session) error {
		if n := int32(c.Rank()); s.ID("a=1 # x") != 2+n%2 || s.SetID("b\xff\n") != 3-n%2 || s.SetID("c") == 3 {
			return fmt.Errorf("rank %d: %v", n, s.names.ids)
		}
		return s.Close(ctx)
	}))
	if list, err := m.ReadDir("Meta"); err != nil || len(list) > 0 {
		t.Errorf("left: %v, %v", list, err)
	}
}

// TestHalf: the rename of one rank's file fails. Each rank still reads variables of the new checkpoint, not of the older one with
// the same number.
func TestHalf(t *testing.T) {
	full := errors.New("the disk says no")
	hook := vfs.FailOn(vfs.OpRename, "Ckpt5-Rank2.fti", 2, full)
	must(t, job(vfs.NewFault(disk(t, ""), hook), func(ctx context.Context, c comm.Comm, s *Session) error {
		if err := write(ctx, c, s, 1, 5, 1); err != nil {
			return err
		}
		if err := write(ctx, c, s, 2, 5, 1); !errors.Is(err, full) {
			return fmt.Errorf("the second checkpoint: %w", err)
		}
		var got [8]byte
		if err := errors.Join(s.Protect(1, got[:], 8), s.ReadVar(ctx, 1)); err != nil || got[0] != 2 {
			return fmt.Errorf("rank %d: step %d, %w", c.Rank(), got[0], err)
		}
		return nil
	}))
}

// TestPosix: a run of FTI's POSIX mode restarts with the names of its variables. Its last checkpoint is kept as an FTI-FF file.
func TestPosix(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	put("Local/node0/run/l1/Ckpt7-Rank0.fti", "abcdefg")
	put("Meta/run/l1/sector0-group0.fti", "[0]\nckpt_file_name = Ckpt7-Rank0.fti\nckpt_file_size = 7\nckpt_checksum = 7ac66c0f148de9519b8bd264312c4d64\n"+
		"var0_id = 3\nvar0_size = 2\nvar0_pos = 0\nvar0_idchar = head\nvar1_id = 0\nvar1_size = 5\nvar1_pos = 2\n")
	put("config", strings.NewReplacer("\nCkpt_dir = ", "\nCkpt_dir = "+dir+"/", "\nGlbl_dir = ", "\nGlbl_dir = "+dir+"/", "\"Meta\"", dir+"/Meta",
		"Ckpt_L1 = 3\nGroup_size = 4", "Group_size = 1", "Failure = 0", "Failure = 1", "NONE", "run").Replace(fmt.Sprintf(template, "keep_last_ckpt = 1")))
	for range 2 {
		must(t, comm.Run(context.Background(), 1, nil, func(ctx context.Context, c comm.Comm) error {
			s, err := Open(ctx, c, filepath.Join(dir, "config"), nil)
			if err != nil {
				return err
			}
			var got [7]byte
			err = errors.Join(s.Protect(int64(s.ID("head")), got[:2], 2), s.Protect(0, got[2:], 5), s.Recover(ctx), s.Close(ctx))
			if string(got[:]) != "abcdefg" {
				err = errors.Join(err, fmt.Errorf("%q", got))
			}
			return err
		}))
	}
}
