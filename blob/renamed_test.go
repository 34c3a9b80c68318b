package blob

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"blobio/comm"
	"blobio/internal/crashtest"
	"blobio/internal/testfiles"
	"blobio/internal/vfs"
	"blobio/subfile"
)

// filesOf lists the files of a dataset as a user would, by the beginning of their names; lock: its lease, too.
func filesOf(base string, lock bool) (list []string) {
	dir, name := filepath.Split(base)
	entries, err := os.ReadDir(dir)
	must(err)
	for _, e := range entries {
		n := e.Name()
		if strings.HasPrefix(n, name+".") || strings.HasPrefix(n, name+"+") || lock && strings.HasPrefix(n, "."+name+".lock") {
			list = append(list, filepath.Join(dir, n))
		}
	}
	return list
}

// renamedTo is the name that a file of the dataset base has as one of the dataset to.
func renamedTo(file, base, to string) string {
	return filepath.Join(filepath.Dir(to), strings.Replace(filepath.Base(file), filepath.Base(base), filepath.Base(to), 1))
}

// A carrier brings the files of a dataset to another name, and says whether those of the old name are gone.
type carrier struct {
	name  string
	moves bool
	carry func(files []string, base, to string) error
}

func copyOne(from, to string) error {
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o666)
	}
	return err
}

// carriers do with calls of the system what programs do.
var carriers = []carrier{
	{"mv", true, func(files []string, base, to string) (err error) {
		for _, f := range files {
			err = errors.Join(err, os.Rename(f, renamedTo(f, base, to)))
		}
		return err
	}},
	{"cp", false, func(files []string, base, to string) (err error) {
		for _, f := range files {
			err = errors.Join(err, copyOne(f, renamedTo(f, base, to)))
		}
		return err
	}},
	{"rsync", false, func(files []string, base, to string) (err error) {
		for _, f := range files {
			name := renamedTo(f, base, to)
			temp := filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+".aBcDeF")
			err = errors.Join(err, copyOne(f, temp), os.Rename(temp, name))
		}
		return err
	}},
	{"tar", false, func(files []string, base, to string) error {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		for _, f := range files {
			content, err := os.ReadFile(f)
			must(err)
			must(w.WriteHeader(&tar.Header{Name: filepath.Base(f), Size: int64(len(content)), Mode: 0o666}))
			_, err = w.Write(content)
			must(err)
		}
		must(w.Close())
		for r := tar.NewReader(&b); ; {
			h, err := r.Next()
			if errors.Is(err, io.EOF) {
				return nil
			}
			must(err)
			content, err := io.ReadAll(r)
			must(errors.Join(err, os.WriteFile(renamedTo(h.Name, base, to), content, 0o666)))
		}
	}},
}

// programs are carriers by the programs themselves.
func programs(t *testing.T) []carrier {
	each := func(command ...string) func(files []string, base, to string) error {
		return func(files []string, base, to string) (err error) {
			for _, f := range files {
				if out, xerr := exec.Command(command[0], append(command[1:], f, renamedTo(f, base, to))...).CombinedOutput(); xerr != nil {
					err = errors.Join(err, fmt.Errorf("%v %s: %w: %s", command, f, xerr, out))
				}
			}
			return err
		}
	}
	for _, p := range []string{"mv", "cp", "rsync", "tar"} {
		testfiles.Judge(t, p)
	}
	return []carrier{{"mv", true, each("mv")}, {"cp", false, each("cp")}, {"cp -a", false, each("cp", "-a")}, {"rsync", false, each("rsync", "-a")},
		{"tar", false, func(files []string, base, to string) error {
			ball := to + "-ball.tar"
			defer os.Remove(ball)
			args := []string{"-cf", ball, "-C", filepath.Dir(base)}
			for _, f := range files {
				args = append(args, "./"+filepath.Base(f))
			}
			quote := func(s string) string { return strings.ReplaceAll(s, ".", `\.`) }
			out, err := exec.Command("tar", args...).CombinedOutput()
			if err == nil {
				out, err = exec.Command("tar", "-xf", ball, "-C", filepath.Dir(to), "--transform", "s/"+quote(filepath.Base(base))+"/"+filepath.Base(to)+"/").CombinedOutput()
			}
			if err != nil {
				return fmt.Errorf("tar: %w: %s", err, out)
			}
			return nil
		}}}
}

// kept is a dataset of the history.
type kept struct {
	base    string
	seed    int64
	records int64
	o       settings
}

func (k *kept) model(ranks, way int) *model {
	m := dealtModel(k.records, ranks, way)
	m.seed = k.seed
	return m
}

// expect looks at a dataset in all ways.
func (k *kept) expect(t *testing.T, after []string) {
	t.Helper()
	told := strings.Join(after, "\n")
	if got, err := canonicalOf(vfs.OS, k.base); err != nil {
		t.Fatalf("%s\n%s: %v", told, k.base, err)
	} else if want := k.model(2, 0).canonical(false); !bytes.Equal(got, want) {
		t.Fatalf("%s\n%s: %s", told, k.base, firstDiff(got, want))
	}
	if bad := checkErrors(vfs.OS, k.base); len(bad) > 0 {
		t.Fatalf("%s\n%s: %v", told, k.base, bad)
	}
	if s, err := StatusOf(context.Background(), k.base, false); err != nil || s.Records != k.records {
		t.Fatalf("%s\n%s: %v, %v, want %d records", told, k.base, s, err, k.records)
	}
}

// wander is a history of datasets that are written, copied, renamed, continued, recovered and destroyed.
type wander struct {
	rnd  *rand.Rand
	ways []carrier
	dirs []string
	all  []*kept
	told []string
	n    int
}

// fresh is a name that nothing has.
func (h *wander) fresh() string {
	h.n++
	forms := []string{"F_h0.nc", "case.eam.h0.2010-%02d.nc", "with space %d", "d.%04d", "x.manifest%d", "w%08x.h5", "a+%d.nc", "ü.%d.partial"}
	name := forms[h.rnd.Intn(len(forms))]
	if strings.Contains(name, "%") {
		name = fmt.Sprintf(name, h.n)
	} else {
		name = fmt.Sprintf("%s-%d", name, h.n)
	}
	return filepath.Join(h.dirs[h.rnd.Intn(len(h.dirs))], name)
}

func (h *wander) say(format string, args ...any) {
	h.told = append(h.told, fmt.Sprintf(format, args...))
}

// carry brings a dataset to a new name.
func (h *wander) carry(k *kept, lock bool) error {
	way := h.ways[h.rnd.Intn(len(h.ways))]
	return h.carryBy(way, k, lock)
}

func (h *wander) carryBy(way carrier, k *kept, lock bool) error {
	to := *k
	to.base = h.fresh()
	files := filesOf(k.base, lock)
	h.rnd.Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
	h.say("%s %s %s: %d files, %d records", way.name, k.base, to.base, len(files), k.records)
	if err := way.carry(files, k.base, to.base); err != nil {
		return err
	}
	if way.moves {
		*k = to
	} else {
		h.all = append(h.all, &to)
	}
	return nil
}

// write makes a dataset, or adds to one, by any number of ranks; live: it is copied between the commits, and while something is not committed.
func (h *wander) write(k *kept, add, live bool) error {
	ranks, way := 1+h.rnd.Intn(3), h.rnd.Intn(3)
	k.o.Subfiles = 1 + h.rnd.Intn(ranks)
	from := k.records
	k.records += 1 + int64(h.rnd.Intn(3))
	m := k.model(ranks, way)
	h.say("write %s: %v, add %v, live %v, %d ranks, %d subfiles, records %d to %d", k.base, k.o.Layout, add, live, ranks, k.o.Subfiles, from, k.records-1)
	if !live && !add {
		return run(ranks, func(ctx context.Context, c comm.Comm) error { return m.create(ctx, c, k.base, &k.o) })
	}
	if !live {
		return run(ranks, func(ctx context.Context, c comm.Comm) error { return m.add(ctx, c, k.base, &k.o) })
	}
	return run(ranks, func(ctx context.Context, c comm.Comm) error {
		var w *Writer
		var err error
		if add {
			w, err = m.append(ctx, c, k.base, &k.o)
		} else {
			w, err = createWith(ctx, c, k.base, m.s, m.parts(c.Rank()), &k.o)
		}
		if err != nil {
			return err
		}
		defer w.Abort()
		look := func(records int64) (err error) {
			if c.Rank() == 0 && records > 0 {
				copied := *k
				copied.records = records
				cp := h.ways[slices.IndexFunc(h.ways, func(w carrier) bool { return w.name == "cp" })]
				err = h.carryBy(cp, &copied, h.rnd.Intn(2) == 0)
			}
			return comm.Agree(ctx, c, err)
		}
		for rec := from; rec < k.records; rec++ {
			if err = m.putRecord(w, rec, c.Rank(), rec == 0); err == nil {
				err = w.Flush(ctx)
			}
			if err == nil {
				err = look(rec) // what is not committed does not count
			}
			if err == nil {
				err = w.Commit(ctx)
			}
			if err == nil {
				err = look(rec + 1)
			}
			if err != nil {
				return err
			}
		}
		return w.Close(ctx)
	})
}

// spoil overwrites all files of a dataset with noise, or removes them: no other one may have been of them.
func (h *wander) spoil(k *kept) {
	noise := h.rnd.Intn(2) == 0
	h.say("spoil %s: noise %v", k.base, noise)
	for _, f := range filesOf(k.base, true) {
		if noise {
			b := make([]byte, 3000)
			h.rnd.Read(b)
			must(os.WriteFile(f, b, 0o666))
		}
	}
	defer func() { h.all = slices.DeleteFunc(h.all, func(o *kept) bool { return o == k }) }()
	if noise {
		for _, o := range h.all {
			if o != k {
				_, err := canonicalOf(vfs.OS, o.base)
				must(err)
			}
		}
	}
	for _, f := range filesOf(k.base, true) {
		must(os.Remove(f))
	}
}

// step does one thing.
func (h *wander) step() error {
	if len(h.all) == 0 || h.rnd.Intn(6) == 0 {
		k := &kept{base: h.fresh(), seed: int64(h.n), o: settings{Options: Options{Durability: DurableNone, Layout: Layout(h.rnd.Intn(2))}}}
		if k.o.Layout == ProcessCentric && h.rnd.Intn(3) == 0 {
			k.o.Compress.Method = ShuffleZstd
		}
		k.o.CommitMode = []CommitMode{CommitAuto, CommitManifestOnly}[h.rnd.Intn(2)]
		err := h.write(k, false, h.rnd.Intn(2) == 0)
		h.all = append(h.all, k)
		return err
	}
	k := h.all[h.rnd.Intn(len(h.all))]
	switch h.rnd.Intn(6) {
	case 0, 1, 2:
		return h.carry(k, h.rnd.Intn(2) == 0)
	case 3:
		return h.write(k, true, h.rnd.Intn(2) == 0)
	case 4:
		h.say("recover %s", k.base)
		if _, err := Recover(context.Background(), k.base, nil); err != nil {
			return err
		}
	case 5:
		if len(h.all) > 1 {
			h.spoil(k)
		}
	}
	return nil
}

// TestCopiesAndRenames: whatever datasets are called by now, and whatever has become of those that they were copied from, each is whole and its own.
func TestCopiesAndRenames(t *testing.T) { wanderAll(t, carriers, times(2, 100)) }

// TestCopiesByPrograms is TestCopiesAndRenames with mv, cp, rsync and tar.
func TestCopiesByPrograms(t *testing.T) { wanderAll(t, programs(t), times(12, 100)) }

func wanderAll(t *testing.T, ways []carrier, orders int) {
	for seed := range orders {
		top := t.TempDir()
		h := &wander{rnd: rand.New(rand.NewSource(int64(seed))), ways: ways}
		for _, d := range []string{"one", "two"} {
			h.dirs = append(h.dirs, filepath.Join(top, d))
			must(os.Mkdir(h.dirs[len(h.dirs)-1], 0o777))
		}
		for range 14 {
			if err := h.step(); err != nil {
				t.Fatalf("order %d: %s\n%v", seed, strings.Join(h.told, "\n"), err)
			}
			for _, k := range h.all {
				k.expect(t, append([]string{fmt.Sprintf("order %d", seed)}, h.told...))
			}
		}
		for _, d := range h.dirs {
			sets, err := subfile.List(vfs.OS, d)
			must(err)
			var found, want []string
			for _, s := range sets {
				found = append(found, s.Base)
			}
			for _, k := range h.all {
				if filepath.Dir(k.base) == d {
					want = append(want, k.base)
				}
			}
			slices.Sort(want)
			if !slices.Equal(found, want) {
				t.Fatalf("%s\nin %s: %v, want %v", strings.Join(h.told, "\n"), d, found, want)
			}
		}
	}
}

// TestRenamedUnderWriter: a dataset is renamed while its writer is at work. The writer commits nothing more and says so; what it has committed is under the
// new name, which nobody else writes to as long as the writer lives.
func TestRenamedUnderWriter(t *testing.T) {
	type moment struct {
		name      string
		before    int64 // records that were there, of a writer that is closed
		committed int64 // records that this one has committed by then
	}
	for name, o := range crashtest.SomeOf(t, 2, map[string]settings{
		"variable":      {Options: Options{Subfiles: 2}},
		"final names":   {Options: Options{Subfiles: 2, CommitMode: CommitManifestOnly}},
		"process":       {Options: Options{Layout: ProcessCentric, Subfiles: 2}},
		"process, room": {Options: Options{Layout: ProcessCentric, Subfiles: 2, Records: 5}},
	}) {
		for _, at := range []moment{{"new", 0, 0}, {"committed", 0, 2}, {"appended", 2, 0}, {"appended, committed", 2, 2}} {
			for _, back := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/back %v", name, at.name, back), func(t *testing.T) {
					dir := t.TempDir()
					was, now := filepath.Join(dir, "was.nc"), filepath.Join(dir, "now.nc")
					o := o
					o.Durability = DurableNone
					have := at.before + at.committed
					k := &kept{base: now, seed: 1, records: have, o: o}
					all := *k
					all.records = have + 1
					m := all.model(2, 0)
					room := o
					o.Records = 0
					if at.before > 0 {
						must(run(2, func(ctx context.Context, c comm.Comm) error { return m.upTo(at.before).create(ctx, c, was, &o) }))
					}
					told := false
					err := run(2, func(ctx context.Context, c comm.Comm) error {
						var w *Writer
						var err error
						if at.before > 0 {
							w, err = m.append(ctx, c, was, &room)
						} else {
							w, err = createWith(ctx, c, was, m.s, m.parts(c.Rank()), &room)
						}
						if err != nil {
							return err
						}
						defer w.Abort()
						for rec := at.before; rec <= have; rec++ {
							err = m.putRecord(w, rec, c.Rank(), rec == 0)
							if err == nil {
								err = w.Flush(ctx)
							}
							if err == nil && rec < have {
								err = w.Commit(ctx)
							}
							if err != nil {
								return err
							}
						}
						if c.Rank() == 0 {
							must(carriers[0].carry(filesOf(was, false), was, now))
							if have > 0 {
								if _, err := Recover(ctx, now, nil); !errors.Is(err, ErrInUse) && !back {
									t.Errorf("recover under the new name: %v", err)
								}
							}
							if back {
								must(carriers[1].carry(filesOf(now, false), now, was))
							}
						}
						if err = c.Barrier(ctx); err != nil {
							return err
						}
						err = w.Commit(ctx)
						if err == nil && c.Rank() == 0 {
							told = true
						}
						if cerr := w.Close(ctx); (cerr == nil) != (err == nil) {
							t.Errorf("commit %v, close %v", err, cerr)
						}
						return nil
					})
					if err != nil {
						t.Fatal(err)
					}
					if told { // the files that were copied back are its own as well as the others
						if !back || at.committed > 0 {
							t.Error("a commit to what was renamed")
						}
						all.base = was
						all.expect(t, nil)
						all.base = now
					}
					if have == 0 {
						if _, err := canonicalOf(vfs.OS, now); !errors.Is(err, ErrNotCommitted) {
							t.Errorf("nothing was committed: %v", err)
						}
						_, err := Recover(t.Context(), now, nil)
						must(err)
						if left := filesOf(now, true); len(left) > 0 {
							t.Errorf("left: %v", left)
						}
						return
					}
					k.expect(t, nil)
					_, err = Recover(t.Context(), now, nil)
					must(err)
					k.expect(t, nil)
					must(run(2, func(ctx context.Context, c comm.Comm) error { return m.add(ctx, c, now, &o) }))
					all.expect(t, nil)
				})
			}
		}
	}
}

// TestMixedDatasets: files of two datasets under one name are refused, the wrong ones by name, and nothing that recovers or continues changes them.
func TestMixedDatasets(t *testing.T) {
	ctx := context.Background()
	type mixture struct {
		name  string
		other leg // the other dataset
		seed  int64
		file  string // that comes from it, behind the base
		from  string // where it is called so
	}
	for _, layout := range []Layout{VariableCentric, ProcessCentric} {
		for _, x := range []mixture{
			{"other values", leg{to: 3, ranks: 3}, 2, ".0001", ".0001"},
			{"other values in the first", leg{to: 3, ranks: 3}, 2, ".0000", ".0000"},
			{"fewer records", leg{to: 2, ranks: 3}, 2, ".0001", ".0001"},
			{"more records", leg{to: 5, ranks: 3}, 2, ".0001", ".0001"},
			{"other ranks", leg{to: 3, ranks: 4}, 1, ".0001", ".0001"},
			{"other maps", leg{to: 3, ranks: 3, way: 1}, 1, ".0001", ".0001"},
			{"another subfile", leg{to: 3, ranks: 3}, 1, ".0001", ".0000"},
			{"an added set", leg{to: 5, ranks: 2}, 2, ".0000", "+1.0000"},
			{"manifest", leg{to: 3, ranks: 3}, 2, ".manifest", ".manifest"},
			{"manifest of more records", leg{to: 4, ranks: 3}, 2, ".manifest", ".manifest"},
		} {
			t.Run(fmt.Sprintf("%v/%s", layout, x.name), func(t *testing.T) {
				mem := vfs.NewMem()
				write := func(l leg, seed int64, base string, add bool) {
					t.Helper()
					m := dealtModel(l.to, l.ranks, l.way)
					m.seed = seed
					o := &settings{Options: Options{Layout: layout, Subfiles: 2}, knobs: knobs{fs: mem}}
					must(run(l.ranks, func(ctx context.Context, c comm.Comm) error {
						if add {
							return m.add(ctx, c, base, o)
						}
						return m.create(ctx, c, base, o)
					}))
				}
				write(leg{to: 3, ranks: 3}, 1, "d.nc", false)
				if strings.HasPrefix(x.from, "+") {
					write(leg{to: 3, ranks: 3}, x.seed, "e.nc", false)
					write(x.other, x.seed, "e.nc", true)
				} else {
					write(x.other, x.seed, "e.nc", false)
				}
				b, err := slurp(mem, "e.nc"+x.from)
				must(err)
				must(rewrite(mem, "d.nc"+x.file, b))
				files := map[string][]byte{}
				for _, n := range []string{"d.nc.0000", "d.nc.0001", "e.nc.0000"} {
					files[n], err = slurp(mem, n)
					must(err)
				}
				wrong := []string{"d.nc" + x.file}
				if x.file == ".manifest" {
					wrong = []string{"d.nc.0000", "d.nc.0001"}
				}
				bad := checkErrors(mem, "d.nc")
				for _, n := range wrong {
					if !slices.ContainsFunc(bad, func(f Finding) bool { return f.File == n }) {
						t.Errorf("no finding of %s: %v", n, bad)
					}
				}
				for _, f := range bad {
					if f.File != "" && f.File != "d.nc.manifest" && !slices.Contains(wrong, f.File) {
						t.Errorf("%s is right: %v", f.File, f)
					}
				}
				var fe *FormatError
				if _, err := canonicalOf(mem, "d.nc"); !errors.As(err, &fe) || !slices.Contains(wrong, fe.File) {
					t.Errorf("read: %v, want an error of %v", err, wrong)
				}
				_, err = recoverWith(ctx, "d.nc", nil, knobs{fs: mem})
				for n, was := range files {
					if b, rerr := slurp(mem, n); rerr != nil || !bytes.Equal(b, was) {
						t.Errorf("recover (%v) has changed %s: %v", err, n, rerr)
					}
				}
				if len(checkErrors(mem, "d.nc")) == 0 {
					t.Error("good, after it was recovered")
				}
			})
		}
	}
}

// TestHalfRenamed: where only the manifest was renamed, reader and check say what lies there under the former name.
func TestHalfRenamed(t *testing.T) {
	mem := vfs.NewMem()
	tinyModel(1, 1).writeTo(t, mem, &settings{Options: Options{Subfiles: 2}, knobs: knobs{fs: mem}})
	must(mem.Rename("d.nc.manifest", "e.nc.manifest"))
	for k, want := range []string{"no subfile is here, but d.nc.0000, which", "the first is e.nc.0001, but d.nc.0001, which"} {
		if _, err := canonicalOf(mem, "e.nc"); !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		bad := checkErrors(mem, "e.nc")
		if !strings.Contains(fmt.Sprint(bad), fmt.Sprintf("not there, but d.nc.000%d, which", k)) {
			t.Errorf("check: %v", bad)
		}
		must(mem.Rename(subfile.Name("d.nc", k), subfile.Name("e.nc", k)))
	}
	if bad := checkErrors(mem, "e.nc"); len(bad) > 0 {
		t.Error(bad)
	}
}
