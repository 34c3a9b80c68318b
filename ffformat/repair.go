package ffformat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// checkRepair returns an error if o is invalid.
func (o *Options) checkRepair() error {
	if o != nil && (fateOf[o.Bad] == "" || o.Workers < 0 || o.CkptID < 0 || o.Layout != 0 && !o.Layout.valid()) {
		return fault.Usage("Options.Bad %q, Workers %d, CkptID %d or Layout %d is invalid", o.Bad, o.Workers, o.CkptID, o.Layout)
	}
	return nil
}

// A RepairReport describes what Repair found and did.
type RepairReport struct {
	// Sound means that the file has no faults, and that Repair wrote no new file.
	Sound bool
	// Actions are the repairs, described in words, with their offsets in the old file.
	Actions []Finding
	// Good are the undamaged variables, in order; Bad are the others.
	Good []int32
	Bad  []BadVar
	// File is the new file; nil if none was written.
	File *File
}

// BadVar is a variable that has lost bytes or whose records are damaged.
type BadVar struct {
	ID    int32
	Size  int64   // size in bytes, as far as the records show it
	Lost  []Range // ranges of bad bytes; none if the records of the variable are damaged
	Err   error   // first fault of the variable
	Fate  string  // "dropped", "zeroed" or "kept"
	Bytes int64   // bad bytes
}

// fateOf maps Options.Bad to BadVar.Fate.
var fateOf = map[string]string{"": "dropped", "zero": "zeroed", "keep": "kept"}

// Repair saves data from a damaged file: it writes them to dst, an empty file. It does not change r. Repair mends
//
//   - the file block: lost, truncated, overwritten, or not at the end of the file;
//     sizes in it that do not match the file;
//   - the checksum: Repair recomputes it by the rule of FTI's reader if it follows another rule, so that
//     FTI v1.3 and later can restart from their own files with empty containers;
//   - records with a field that contradicts other records and the hash of the chunk: offsets,
//     sizes, numbers, flags, and unambiguous ids of variables;
//   - chunks whose bytes are missing or do not match their hash: Repair drops the
//     variable or follows Options.Bad.
//
// The new file has all other variables, verified. If no records are left, Repair returns the error of Decode. It returns
// ErrMissing, with the report, if every variable is bad and bad variables are dropped; ErrUnsupported for a parity file; and
// otherwise only errors of r and dst. The caller must sync dst.
func Repair(ctx context.Context, r io.ReaderAt, size int64, name string, dst vfs.File, o *Options) (*RepairReport, error) {
	if err := o.checkRepair(); err != nil {
		return nil, err
	}
	if o == nil {
		o = new(Options)
	}
	if dst == nil && !o.DryRun {
		return nil, fault.Usage("output file is nil")
	}
	f, err := Decode(r, size, name, &Options{Layout: o.Layout, Lenient: true})
	if isIO(err) {
		return nil, err
	}
	w := &repairing{Options: *o, f: f, rep: &RepairReport{}, r: r}
	why := err
	if f != nil {
		why = f.Damaged
	}
	if why != nil && (f == nil || !f.Parity) {
		if err := w.better(ctx, size, name, why); err != nil {
			return nil, err
		}
	}
	if f = w.f; f == nil {
		return nil, err
	}
	if err := w.kind(ctx); err != nil {
		return nil, err
	}
	if f.Parity {
		return nil, fault.At(name, -1, "", ErrUnsupported, "parity files of level 3 can be rebuilt only from the other files of the group")
	}
	if err := w.diagnose(ctx); err != nil {
		return nil, err
	}
	if len(w.rep.Actions) == 0 && len(w.rep.Bad) == 0 {
		w.rep.Sound = true
		return w.rep, nil
	}
	if len(w.rep.Good) == 0 && o.Bad == "" && len(w.f.Vars()) > 0 {
		return w.rep, fault.At(name, -1, "", ErrMissing, "no intact variable")
	}
	if o.DryRun {
		return w.rep, nil
	}
	return w.rep, w.write(ctx, dst)
}

// repairing is the state of one call of Repair.
type repairing struct {
	Options
	f   *File
	r   io.ReaderAt
	rd  *Reader
	rep *RepairReport

	badChunk map[*Container]error
	badVar   map[int32]error // variables whose records are bad, with the reason
	rehash   map[*Container]bool
}

func (w *repairing) act(off int64, field, format string, args ...any) *Finding {
	w.rep.Actions = append(w.rep.Actions, Finding{Severity: fault.Note, File: w.f.Name, Offset: off, Field: field, Msg: fmt.Sprintf(format, args...)})
	return &w.rep.Actions[len(w.rep.Actions)-1]
}

// diagnose finds the damage, mends the records in w.f, and sorts the variables.
func (w *repairing) diagnose(ctx context.Context) error {
	f := w.f
	for _, err := range split(f.Damaged) {
		fi := findingOf(fault.Note, f.Name, err)
		w.act(fi.Offset, fi.Field, "file block rebuilt: %s", fi.Msg)
	}
	w.fileBlock()
	m := &mender{repairing: w, ctx: ctx}
	if err := m.mend(); err != nil {
		return err
	}
	s := structureOf(f)
	for _, fl := range s.flaws { // flaws that could not be mended
		if fl.Severity == fault.Warning && strings.HasSuffix(fl.Field, "hascontent") {
			continue // FTI accepts this flaw
		}
		id, of := fl.Var.Get()
		if _, lost := s.lost[int32(id)]; !(of && lost) && fl.Severity > fault.Note {
			w.act(fl.Offset, fl.Field, "rewritten: %s", fl.Msg)
		}
	}
	w.rd = newReader(w.r, f)
	w.badChunk, w.badVar, w.rehash = map[*Container]error{}, map[int32]error{}, map[*Container]bool{}
	for _, v := range f.Vars() {
		if _, err := w.rd.variable(v.ID); err != nil && w.Bad == "keep" && w.rd.recs.doubtful[v.ID] {
			w.act(-1, "id", "variable %d is kept under this id, which may be wrong", v.ID)
		} else if err != nil {
			w.badVar[v.ID] = errors.Unwrap(err)
		}
	}
	var jobs []chunkJob
	for p := range f.all() {
		if p.HasContent && w.badVar[p.ID] == nil {
			jobs = append(jobs, chunkJob{c: p})
		}
	}
	res, err := w.rd.hashChunks(ctx, jobs, w.Workers)
	if err != nil {
		return err
	}
	hashes := map[*Container]digest{}
	for i, j := range jobs {
		err := w.rd.verdict(j.c, res[i])
		if isIO(err) {
			return err
		}
		if err != nil {
			w.badChunk[j.c.Container] = err
		}
		if res[i].err == nil {
			hashes[j.c.Container] = res[i].hash
		}
	}
	if err := w.checksum(ctx, jobs, hashes); err != nil {
		return err
	}
	w.sort()
	return nil
}

// fileBlock mends impossible values in the file block of level 2 and 3 files, and an impossible id.
func (w *repairing) fileBlock() {
	fb, t := &w.f.FB, &w.f.Layout.table().fb
	at := w.f.FileBlockOffset()
	set := func(p *int64, to int64, s span, field string) {
		if w.f.Damaged == nil {
			w.act(at+int64(s.off), field, "%d, was %d", to, *p)
		}
		*p = to
	}
	if fb.MaxFs != -1 && fb.MaxFs < fb.FileSize {
		set(&fb.MaxFs, -1, t.maxFs, "FB.maxFs")
	}
	if fb.PtFs < -1 {
		set(&fb.PtFs, -1, t.ptFs, "FB.ptFs")
	}
	if id := int64(fb.CkptID); t.ckptID.len > 0 && id < 0 {
		set(&id, int64(max(w.CkptID, 0)), t.ckptID, "FB.ckptId")
		fb.CkptID = int32(id)
	}
}

// checksum compares the checksum of the file block with the reader's rule. If the checksum matches the chunks in the file, not
// the chunks but the recorded hashes are damaged.
func (w *repairing) checksum(ctx context.Context, jobs []chunkJob, hashes map[*Container]digest) error {
	f := w.f
	if f.Hash == Fast || f.Damaged != nil || len(w.badVar) > 0 {
		return nil
	}
	at := f.FileBlockOffset()
	c := &checker{f: f, rd: w.rd, name: f.Name}
	sum := readerChecksum(f.Blocks)
	if f.Layout.atEnd() {
		if len(w.badChunk) > 0 && f.FB.Checksum == c.recomputed(hashes) && len(hashes) == len(jobs) {
			w.trust("the checksum fits the bytes as they are")
			return nil
		}
	} else {
		var err error
		if sum, err = c.sumInline(ctx, jobs); isIO(err) {
			return err
		} else if err != nil {
			return nil // the file is truncated, so chunks are bad
		}
		if len(w.badChunk) > 0 && f.FB.Checksum == sum && f.Layout == LayoutB {
			w.trust("the checksum fits the bytes as they are")
			return nil
		}
	}
	switch {
	case f.FB.Checksum == sum || len(w.badChunk) > 0:
	case f.Layout.atEnd() && f.FB.Checksum == writerChecksum(f.Blocks):
		w.act(at, "FB.checksum", "%s by the reader's rule; the writer's rule, which gave %s, includes empty containers", sum, f.FB.Checksum)
	default:
		w.act(at, "FB.checksum", "recomputed, because %s matches neither the reader's nor the writer's rule and all chunks are good", f.FB.Checksum)
	}
	return nil
}

// trust treats the bad chunks as good and replaces their recorded hashes.
func (w *repairing) trust(why string) {
	for p := range w.f.all() {
		if w.badChunk[p.Container] != nil {
			w.act(p.offset+int64(w.f.Layout.table().vmd.hash.off), p.field()+": hash", "recomputed: %s", why)
			w.rehash[p.Container] = true
		}
	}
	clear(w.badChunk)
}

// sort divides the variables into good and bad ones.
func (w *repairing) sort() {
	fate := fateOf[w.Bad]
	bad := map[int32][]*Container{} // bad chunks by variable
	for p := range w.f.all() {
		if w.badChunk[p.Container] != nil {
			bad[p.ID] = append(bad[p.ID], p.Container)
		}
	}
	for _, v := range w.f.Vars() {
		b := BadVar{ID: v.ID, Size: v.Size, Err: w.badVar[v.ID], Fate: fate}
		if b.Err != nil {
			b.Fate = "dropped" // the places of its bytes are unknown
		}
		for _, c := range bad[v.ID] {
			if b.Err == nil {
				b.Err = w.badChunk[c]
			}
			b.Lost = append(b.Lost, Range{c.Dptr, c.ChunkSize})
			b.Bytes = addSat(b.Bytes, c.ChunkSize)
		}
		if w.Bad != "" && b.Bytes > 4*w.f.Size+1<<24 {
			b.Fate = "dropped" // too many bytes are missing to keep the variable
		}
		if b.Err == nil {
			w.rep.Good = append(w.rep.Good, v.ID)
		} else {
			w.rep.Bad = append(w.rep.Bad, b)
		}
	}
}

func (w *repairing) write(ctx context.Context, dst vfs.File) error {
	old := w.f
	to := newFile(old, dst.Name(), &Options{Layout: old.Layout, Hash: old.Hash, BlockSize: old.BlockSize})
	if w.CkptID > 0 && old.Damaged != nil && to.Layout.table().fb.ckptID.len > 0 {
		to.FB.CkptID = w.CkptID
	}
	drop := map[int32]bool{}
	for _, b := range w.rep.Bad {
		drop[b.ID] = b.Fate == "dropped"
	}
	if len(w.rep.Bad) == 0 && old.Damaged == nil && to.sameSize(old) {
		to.FB.MaxFs, to.FB.PtFs = old.FB.MaxFs, old.FB.PtFs
	}
	idx := tableWithout(old, drop)
	rw := &rewriting{r: w.rd, dst: dst, to: to, workers: w.Workers, progress: w.Progress}
	for i := range old.Blocks {
		var b Block
		for j := range old.Blocks[i].Containers {
			p := old.place(i, j)
			if drop[p.ID] {
				continue
			}
			c := *p.Container
			c.Idx, c.Pad, c.odd = idx[p.ID], [3]byte{}, [2]byte{}
			b.Containers = append(b.Containers, c)
			if c.HasContent {
				bad := w.badChunk[p.Container] != nil
				rw.from = append(rw.from, []source{{place: p, zero: bad && w.Bad == "zero", trust: bad && w.Bad == "keep" || w.rehash[p.Container]}})
			}
		}
		if len(b.Containers) > 0 {
			to.Blocks = append(to.Blocks, b)
		}
	}
	if err := rw.run(ctx); err != nil {
		return err
	}
	w.rep.File = to
	return nil
}

// sameSize reports whether f would have the size of old if it had all blocks of old.
func (f *File) sameSize(old *File) bool {
	g := *f
	for i := range old.Blocks {
		g.Blocks = append(g.Blocks, Block{Containers: slices.Clone(old.Blocks[i].Containers)})
	}
	return g.layOut() == nil && g.Size == old.FB.FileSize
}

// tableWithout returns the index of each variable in FTI's table after the variables in drop are removed.
func tableWithout(f *File, drop map[int32]bool) map[int32]int32 {
	idx := tableOf(f)
	var ids []int32
	for _, v := range f.Vars() {
		if !drop[v.ID] {
			ids = append(ids, v.ID)
		}
	}
	slices.SortStableFunc(ids, func(a, b int32) int { return cmp.Compare(idx[a], idx[b]) })
	out := map[int32]int32{}
	for i, id := range ids {
		out[id] = int32(i)
	}
	return out
}
