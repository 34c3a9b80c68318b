package blob

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"blobio/blob/internal/check"
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/resume"
	"blobio/blob/internal/write"
	"blobio/comm"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

// third runs a session that commits two records and flushes a third one. Rank 0 then calls look.
func (sc sessionCase) third(m *model, mem *vfs.Mem, look func(ctx context.Context)) error {
	return run(m.ranks, func(ctx context.Context, c comm.Comm) error {
		w := need(write.CreateWith(ctx, sc.comm(c), "d.nc", m.s, m.parts(c.Rank()), sc.with(mem, false)))
		for rec := range int64(2) {
			must(errors.Join(m.putRecord(w, rec, c.Rank(), rec == 0), w.Commit(ctx)))
		}
		must(errors.Join(m.putRecord(w, 2, c.Rank(), false), w.Flush(ctx), c.Barrier(ctx)))
		if c.Rank() == 0 {
			look(ctx)
		}
		return errors.Join(c.Barrier(ctx), w.Close(ctx))
	})
}

// TestSessionDied checks a dataset whose writer died after its second commit. Check and a dry run of Recover must describe the
// remaining files, and Recover must finish the dataset.
func TestSessionDied(t *testing.T) {
	for _, sc := range crashtest.Some(t, 2, sessionCases()) {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			m, mem := sc.model(3), vfs.NewMem()
			var dead *vfs.Mem
			noError(t, sc.third(m, mem, func(context.Context) { dead = syncedClone(mem) }))
			if n := recordsSeen(t, dead, "dead", m); n != 2 {
				t.Fatalf("%d records", n)
			}
			text := ""
			for f := range check.CheckWith(context.Background(), "d.nc", nil, dataset.Knobs{Fs: dead}) {
				text += f.String() + "\n"
			}
			if !strings.Contains(text, "commit 2 is in force, with 2 records") || !strings.Contains(text, "has died") {
				t.Errorf("Check: %s", text)
			}
			left, err := resume.UnfinishedIn(dead, ".")
			if err != nil || fmt.Sprint(left) != "[d.nc]" {
				t.Errorf("unfinished: %v, %v", left, err)
			}
			before := fmt.Sprint(names(dead, "."))
			would, err := resume.RecoverWith(context.Background(), "d.nc", &resume.RecoverOptions{DryRun: true}, dataset.Knobs{Fs: dead})
			if err != nil || fmt.Sprint(names(dead, ".")) != before {
				t.Fatalf("dry run: %v; %v, then %v", err, before, names(dead, "."))
			}
			did, err := resume.RecoverWith(context.Background(), "d.nc", nil, dataset.Knobs{Fs: dead})
			if err != nil || fmt.Sprint(did) != fmt.Sprint(would) {
				t.Errorf("%v: did %v, would have done %v", err, did, would)
			}
			expect(t, crash{fs: dead, when: "recovered"}, "Recover", m.upTo(2))
			onlyNotes(t, "recovered", dead, "d.nc")
			if steps, err := resume.RecoverWith(context.Background(), "d.nc", &resume.RecoverOptions{DryRun: true}, dataset.Knobs{Fs: dead}); err != nil || len(steps) > 0 {
				t.Errorf("again: %v, %v", steps, err)
			}
		})
	}
}

// TestSessionAlive checks a dataset that is being written. Check must have only notes, and no other writer may write.
func TestSessionAlive(t *testing.T) {
	t.Parallel()
	for _, sc := range crashtest.Some(t, 2, sessionCases()) {
		m, mem := sc.model(3), vfs.NewMem()
		sc.o.Records = min(sc.o.Records, m.records)
		err := sc.third(m, mem, func(ctx context.Context) {
			said := false
			for f := range check.CheckWith(ctx, "d.nc", nil, dataset.Knobs{Fs: mem}) {
				if said = said || strings.Contains(f.Msg, "the writer is active: commit 2 is in force, with 2 records"); f.Severity != dataset.Note {
					t.Errorf("%s: %v", sc.name, f)
				}
			}
			_, rerr := resume.RecoverWith(ctx, "d.nc", nil, dataset.Knobs{Fs: mem})
			_, aerr := resume.AppendWith(ctx, comm.Self(), "d.nc", nil, &dataset.Settings{Knobs: dataset.Knobs{Fs: mem}})
			if !said || !errors.Is(rerr, dataset.ErrInUse) || !errors.Is(aerr, dataset.ErrInUse) {
				t.Errorf("%s: said %v, Recover: %v, Append: %v", sc.name, said, rerr, aerr)
			}
		})
		if err != nil {
			t.Errorf("%s: %v", sc.name, err)
		}
		expect(t, crash{fs: mem, when: "closed"}, sc.name, m)
	}
}

// TestSessionPieces checks that the log has checksums of pieces for large extents, like the manifest, and that Check finds
// damage to a piece. If an older manifest has no checksums of pieces, the log has none either.
func TestSessionPieces(t *testing.T) {
	for _, o := range []dataset.Options{{Subfiles: 2}, {Subfiles: 2, Layout: dataset.ProcessCentric, Records: 3}} {
		for _, coarse := range []bool{false, true} {
			if coarse && o.Layout == dataset.ProcessCentric {
				continue
			}
			m, mem := tinyModel(1, 3), vfs.NewMem()
			if coarse {
				m.upTo(1).writeTo(t, mem, &dataset.Settings{Options: o, Knobs: dataset.Knobs{Fs: mem, Piece: 8}})
				was := manifestOf(mem, "d.nc")
				for k := range was.Sets[0].Subfiles {
					was.Sets[0].Subfiles[k].Pieces = nil
				}
				must(subfile.WriteNext(mem, "d.nc", was, true, subfile.By{}))
				must(subfile.Finish(mem, "d.nc", was, true, subfile.By{}))
			}
			sc := sessionCase{}
			noError(t, run(m.ranks, func(ctx context.Context, c comm.Comm) error {
				return sc.writeCommits(ctx, c, m, &dataset.Settings{Options: o, Knobs: dataset.Knobs{Fs: mem, Piece: 8}}, coarse, func(n int64) {
					if c.Rank() == 0 && n > 1 && n < 3 {
						st, err := subfile.ReadState(mem, "d.nc")
						if err != nil || st.Manifest.Records != n || coarse != (len(st.Manifest.Sets[0].Subfiles[0].Pieces) == 0) {
							t.Errorf("%v %v: %+v %v", o, coarse, st.Manifest, err)
						}
					}
				})
			}))
			expect(t, crash{fs: mem, when: "pieces"}, fmt.Sprint(o), m)
			man := manifestOf(mem, "d.nc")
			if coarse != (len(man.Sets[0].Subfiles[0].Pieces) == 0) || !coarse && man.Piece != 8 {
				t.Errorf("%v %v: %+v", o, coarse, man)
			}
			at := int64(len(need(slurp(mem, "d.nc.0000")))) - 1
			if o.Layout == dataset.VariableCentric {
				at -= 11 // a byte of the variable flag, which precedes time in the file
			}
			flipAt(mem, "d.nc.0000", at)
			if bad := checkErrors(mem, "d.nc"); len(bad) != 1 || !errors.Is(bad[0].Err, dataset.ErrChecksum) {
				t.Errorf("%v %v: %v", o, coarse, bad)
			}
		}
	}
}
