package blob

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"blobio/blob/internal/convert"
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/blob/internal/read"
	"blobio/blob/internal/resume"
	"blobio/comm"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/durable"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

// onceOnly returns a manifest or log in the older form, which has each line once instead of twice.
func onceOnly(t testing.TB, b []byte) (out []byte) {
	t.Helper()
	for k, line := range bytes.SplitAfter(b, []byte("\n")) {
		if k%2 == 0 && len(line) > 0 {
			if !json.Valid(line) {
				t.Fatalf("%q", line)
			}
			out = fmt.Appendf(append(out, line...), "{\"crc32\":\"%08x\"}\n", crc32.ChecksumIEEE(line))
		}
	}
	return out
}

// diedIn returns the files of a writer that has closed the dataset (end) or was killed after its third commit of one record.
// have is the number of records.
func (sc sessionCase) diedIn(t *testing.T, m *model, end bool) (files map[string][]byte, have int64) {
	t.Helper()
	mem := vfs.NewMem()
	var mu sync.Mutex
	noError(t, run(m.ranks, func(ctx context.Context, c comm.Comm) error {
		return sc.writeCommits(ctx, c, m, sc.with(mem, false), false, func(n int64) {
			if end || n < 3 {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if files == nil {
				files = memFiles(t, mem)
			}
		})
	}))
	if files == nil {
		files = memFiles(t, mem)
	}
	delete(files, filepath.Base(durable.LockName("d.nc")))
	if have = recordsSeen(t, memOf(t, files), "before", m); have < 3 {
		t.Fatalf("%d records", have)
	}
	return files, have
}

// TestSealFlips flips bits of manifests and logs. The flip must not lead to an older state without an error, Check must find
// it, and Recover must be able to repair the dataset. Manifest and log contain each line twice, so that no record is lost. In
// the form of older versions, with each line once, a flip is an error, and Recover with Force restores what it can.
func TestSealFlips(t *testing.T) {
	ctx := context.Background()
	for k, sc := range crashtest.Some(t, 2, sessionCases()) {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			m := sc.model(4)
			for _, end := range []bool{false, true} {
				sound, have := sc.diedIn(t, m, end)
				for _, once := range []bool{false, true} {
					base := maps.Clone(sound)
					var seals []string
					for name := range base {
						if strings.HasSuffix(name, ".manifest") || strings.HasSuffix(name, ".log") {
							seals = append(seals, name)
							if once {
								base[name] = onceOnly(t, base[name])
							}
						}
					}
					slices.Sort(seals)
					if got := recordsSeen(t, memOf(t, base), "before", m); got != have {
						t.Fatalf("%d records", got)
					}
					for _, name := range seals {
						for at := k % times(167, 7); at < len(base[name]); at += times(167, 7) {
							files := maps.Clone(base)
							files[name] = flipped(base[name], int64(at), uint(at%8))
							what := fmt.Sprintf("end %v, once %v: byte %d of %s", end, once, at, name)
							sc.flippedSeal(t, ctx, what, files, m, have, once, strings.HasSuffix(name, ".log"), at%5 == 0)
						}
					}
				}
			}
		})
	}
}

func (sc sessionCase) flippedSeal(t *testing.T, ctx context.Context, what string, files map[string][]byte, m *model, have int64, once, log, goOn bool) {
	t.Helper()
	mem := memOf(t, files)
	if r, err := read.OpenWith(ctx, "d.nc", &read.OpenOptions{Workers: 1}, dataset.Knobs{Fs: mem}); err == nil {
		got, err := convertBytes(ctx, r, &convert.ConvertOptions{Workers: 1})
		if n := r.Now().Data.Records; n != have || err != nil || !bytes.Equal(got, m.upTo(have).canonical(false)) {
			t.Fatalf("%s: %d records without an error, want %d (%v)", what, n, have, err)
		}
		must(r.Close())
	} else if !once {
		t.Fatalf("%s: %v", what, err)
	}
	if bad := checkErrors(mem, "d.nc"); len(bad) == 0 {
		t.Fatalf("%s: Check finds nothing", what)
	}
	if goOn {
		c := crash{fs: memOf(t, files), when: what}
		err := run(m.ranks, func(ctx context.Context, co comm.Comm) error {
			o := sc.with(c.fs, false)
			o.Records = 0
			w, err := m.append(ctx, sc.comm(co), "d.nc", o)
			if err != nil {
				return err
			}
			return w.Close(ctx)
		})
		if err == nil {
			if got := recordsSeen(t, c.fs, what+", after an append", m); got != have {
				t.Fatalf("%s: an append finds %d records, want %d", what, got, have)
			}
		} else if !once {
			t.Fatalf("%s: append: %v", what, err)
		}
	}
	steps, err := resume.RecoverWith(ctx, "d.nc", &resume.RecoverOptions{DryRun: true}, dataset.Knobs{Fs: mem})
	if (err == nil) != (len(steps) > 0) {
		t.Fatalf("%s: nothing to do", what)
	}
	_, err = resume.RecoverWith(ctx, "d.nc", nil, dataset.Knobs{Fs: mem})
	if err == nil {
		if got := recordsSeen(t, mem, what+", recovered", m); got != have {
			t.Fatalf("%s: recovered to %d records, want %d", what, got, have)
		}
		return
	}
	if !once || !errors.As(err, new(*dataset.FormatError)) || !strings.Contains(err.Error(), "--force") {
		t.Fatalf("%s: recover: %v", what, err)
	}
	if now := memFiles(t, mem); len(now) != len(files) {
		t.Fatalf("%s: recover changed something: %v, %v", what, err, names(mem, "."))
	}
	if steps, err := resume.RecoverWith(ctx, "d.nc", &resume.RecoverOptions{DryRun: true, Force: true}, dataset.Knobs{Fs: mem}); err != nil || len(steps) == 0 {
		t.Fatalf("%s: forced, as a test: %v", what, err)
	}
	if _, err := resume.RecoverWith(ctx, "d.nc", &resume.RecoverOptions{Force: true}, dataset.Knobs{Fs: mem}); err != nil {
		t.Fatalf("%s: forced: %v", what, err)
	}
	// Only the log has the number of records if the file has room for more records. Otherwise one header may not have the last
	// number yet.
	if got := recordsSeen(t, mem, what+", forced", m); got != have && !(log && (sc.o.Records > 0 || got == have-1)) {
		t.Fatalf("%s: forced: %d records, want %d", what, got, have)
	}
	if steps, err := resume.RecoverWith(ctx, "d.nc", &resume.RecoverOptions{DryRun: true}, dataset.Knobs{Fs: mem}); err != nil || len(steps) > 0 {
		t.Fatalf("%s: then there is still to do: %v %v", what, steps, err)
	}
}

// TestLostSeals removes the manifest of a dataset with several sets or a log, or empties the log that lists sets. Open, Check
// and Recover must return an error, and must not take the files for a dataset of another program. Recover removes nothing
// without Force, and with Force restores all records.
func TestLostSeals(t *testing.T) {
	ctx, sets := context.Background(), 0
	for _, sc := range sessionCases() {
		m := sc.model(4)
		for _, emptied := range []bool{false, true} {
			if !emptied && !slices.Contains([]string{"sets-3", "room-3", "variable-3", "compressed"}, sc.name) {
				continue
			}
			files, have := sc.diedIn(t, m, !emptied && strings.HasPrefix(sc.name, "sets"))
			want, what := dataset.ErrMissing, sc.name+", no manifest"
			if emptied {
				if files["d.nc+2.0000"] == nil {
					continue // without a second set, the empty log is not noticed
				}
				sets++
				want, what = dataset.ErrCorrupt, sc.name+", an empty log"
				for name := range files {
					if strings.HasSuffix(name, ".log") {
						files[name] = nil
					}
				}
			} else {
				delete(files, subfile.ManifestName("d.nc"))
			}
			mem := memOf(t, files)
			if r, err := read.OpenWith(ctx, "d.nc", nil, dataset.Knobs{Fs: mem}); !errors.Is(err, want) {
				t.Errorf("%s: %v, %v", what, r, err)
			}
			if bad := checkErrors(mem, "d.nc"); len(bad) == 0 {
				t.Errorf("%s: Check finds nothing", what)
			}
			if _, err := resume.RecoverWith(ctx, "d.nc", nil, dataset.Knobs{Fs: mem}); !errors.Is(err, want) {
				t.Errorf("%s: recover: %v", what, err)
			}
			if left := memFiles(t, mem); len(left) != len(files) {
				t.Errorf("%s: recover has left %v", what, names(mem, "."))
			}
			if _, err := resume.RecoverWith(ctx, "d.nc", &resume.RecoverOptions{Force: true}, dataset.Knobs{Fs: mem}); err != nil {
				t.Fatalf("%s: forced: %v", what, err)
			}
			if got := recordsSeen(t, mem, what, m); got != have {
				t.Errorf("%s: %d records, want %d", what, got, have)
			}
			if m := manifestOf(mem, "d.nc"); !emptied && !m.Unverified {
				t.Errorf("%s: the data count as compared", what)
			}
		}
	}
	if sets == 0 {
		t.Error("no case has commits that are sets")
	}
}

// TestLostCommits checks headers that count more records than the manifest and the log. Either a commit was lost, and this is
// an error; or the number in the header is damaged, and the readers use the number of the manifest.
func TestLostCommits(t *testing.T) {
	ctx := context.Background()
	for _, sc := range sessionCases() {
		if sc.name != "variable-1" && sc.name != "final names" {
			continue
		}
		m := sc.model(4)
		for _, end := range []bool{false, true} {
			sound, have := sc.diedIn(t, m, end)
			for name, log := range sound {
				if !strings.HasSuffix(name, ".log") || end {
					continue
				}
				for what, rest := range map[string][]byte{"cut": nil, "zeros": make([]byte, 100)} { // a crash leaves such an entry if its commit has not returned
					for first := range 2 { // subfiles before first have the number from before the commit
						files := maps.Clone(sound)
						files[name] = append(log[:len(log)-100:len(log)-100], rest...)
						if files[subfile.Name("d.nc", first)] == nil {
							continue
						}
						for i := range 2 { // the commit has changed these headers
							if b := files[subfile.Name("d.nc", i)]; b != nil {
								files[subfile.Name("d.nc", i)] = patched(b, layout.NumrecsAt+7, []byte{byte(have) - byte(max(first-i, 0))})
							}
						}
						sc.flippedSeal(t, ctx, "log: "+what, files, m, have, true, true, true)
					}
				}
			}
			if !end {
				continue
			}
			files := maps.Clone(sound)
			files["d.nc.0000"] = patched(files["d.nc.0000"], layout.NumrecsAt+7, []byte{byte(have) ^ 8})
			if got := recordsSeen(t, memOf(t, files), "numrecs", m); got != have {
				t.Errorf("%s: %d records, want %d", sc.name, got, have)
			}
		}
	}
}

// TestRebuildSchema rebuilds a manifest with Force. It must have the variables that an append has added, and the sets of other
// ranks.
func TestRebuildSchema(t *testing.T) {
	ctx := context.Background()
	for _, lay := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
		mem := vfs.NewMem()
		o := &dataset.Settings{Options: dataset.Options{Layout: lay, Subfiles: 2, Workers: 1}, Knobs: dataset.Knobs{Fs: mem}}
		tinyModel(1, 2).writeTo(t, mem, o)
		m := tinyModel(1, 4).extended(2, extendTiny)
		must(run(m.ranks, func(ctx context.Context, c comm.Comm) error { return m.add(ctx, c, "d.nc", o) }))
		was := manifestOf(mem, "d.nc")
		must(mem.Remove(subfile.ManifestName("d.nc")))
		need(resume.RecoverWith(ctx, "d.nc", &resume.RecoverOptions{Force: true}, dataset.Knobs{Fs: mem}))
		if got := recordsSeen(t, mem, lay.String(), m); got != 4 {
			t.Errorf("%v: %d records", lay, got)
		}
		now := manifestOf(mem, "d.nc")
		now.ID, now.Writer, now.Unverified, now.Version = was.ID, was.Writer, false, was.Version
		if got, want := fmt.Sprintf("%+v", now), fmt.Sprintf("%+v", was); got != want {
			t.Errorf("%v:\n%s, it was\n%s", lay, got, want)
		}
	}
}
