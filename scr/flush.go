package scr

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"blobio/comm"
	"blobio/internal/fault"
	"blobio/internal/vfs"
	"blobio/kvtree"
	"blobio/redset"
	"blobio/scr/cachedir"
	"blobio/scr/cadence"
	"blobio/scr/prefixdir"
	"blobio/scr/record"
	"blobio/scr/runlog"
	"blobio/scr/transfer"
)

// flushDue flushes a new dataset if it is time: output always, what was written there at once too (only what is known
// of it is missing), checkpoints by their number.
func (s *Session) flushDue(ctx context.Context, d *cachedSet) error {
	if err := s.async.reap(ctx); err != nil {
		return err
	}
	due := d.Bypass || d.Dataset.Output || (d.Dataset.Checkpoint && cadence.FlushDue(int64(d.Dataset.Ckpt), s.p.flush))
	switch {
	case !due:
		return nil
	case s.p.async && !d.Bypass:
		return s.async.start(ctx, d)
	}
	return s.flushSync(ctx, d)
}

// Flush writes a cached dataset to the prefix directory now, if it is not there; a collective.
func (s *Session) Flush(ctx context.Context, name string) error {
	if err := s.need("Flush", Idle); err != nil {
		return err
	}
	d := s.find(name)
	var err error
	if d == nil || !d.usable {
		err = fmt.Errorf("scr: dataset %q is not in the cache: %w", name, ErrMissing)
	}
	if err := s.agree(ctx, err); err != nil {
		return err
	}
	return s.flushSync(ctx, d)
}

// CancelFlush ends the background flush of a dataset, a collective; ok says whether there was one. What was copied stays:
// Flush goes on from there.
func (s *Session) CancelFlush(ctx context.Context, name string) (ok bool, err error) {
	if err := s.need("CancelFlush", Idle); err != nil {
		return false, err
	}
	return s.async.cancelFlight(ctx, name)
}

// WaitFlush waits for the background flush of a dataset, or of all (name ""), a collective, and returns what went wrong.
func (s *Session) WaitFlush(ctx context.Context, name string) error {
	if err := s.need("WaitFlush", Idle); err != nil {
		return err
	}
	if name == "" {
		return s.async.wait(ctx, 0)
	}
	for _, f := range s.async.flights {
		if f.d.Dataset.Name == name {
			return s.async.wait(ctx, f.d.ID)
		}
	}
	return nil
}

// flushCached flushes the newest checkpoint that was rebuilt, and all rebuilt output.
func (s *Session) flushCached(ctx context.Context) error {
	newest := s.newest()
	for _, d := range s.cached {
		if d.usable && (d == newest || d.Dataset.Output) {
			if err := s.flushSync(ctx, d); err != nil {
				return err
			}
		}
	}
	return nil
}

// flushed says whether a dataset is in the prefix directory; the same on all ranks.
func (s *Session) flushed(ctx context.Context, d *cachedSet) (bool, error) {
	var in bool
	var err error
	if s.c.Rank() == 0 {
		var x *prefixdir.Index
		if x, _, _, err = s.prefix.LoadIndex(); err == nil {
			e, ok := x.Entry(d.Dataset.Name)
			in = ok && e.ID == d.ID && e.Complete && e.Failed.IsZero()
		}
	}
	if err := s.agree(ctx, err); err != nil {
		return false, err
	}
	return s.flag(ctx, in)
}

// flushSync writes a dataset to the prefix directory while the application waits. A file that is not any more what was
// written is rebuilt from the redundancy first.
func (s *Session) flushSync(ctx context.Context, d *cachedSet) error {
	if err := s.async.wait(ctx, d.ID); err != nil {
		s.warn("scr: background flush", "dataset", d.Dataset.Name, "err", err)
	}
	in, err := s.flushed(ctx, d)
	if err != nil || in {
		return err
	}
	if err := s.step("flush"); err != nil {
		return err
	}
	began := s.cfg.Clock()
	s.event(runlog.Entry{Event: runlog.FlushStart, Dset: runlog.Num(int64(d.ID)), Name: d.Dataset.Name})
	err = s.flushFiles(ctx, d)
	s.logFlush(d.Dataset, d.Path, err == nil, false, began)
	if err != nil {
		return fmt.Errorf("scr: flush of %s: %w", d.Dataset.Name, err)
	}
	return s.step("flushed")
}

func (s *Session) flushFiles(ctx context.Context, d *cachedSet) error {
	there, err := s.bypassed(ctx, d)
	if err != nil {
		return err
	}
	if err := s.agree(ctx, s.announce(ctx, d, prefixdir.SyncFlushing, there)); err != nil {
		return err
	}
	jobs, err := s.flushJobs(ctx, d)
	if err != nil {
		return err
	}
	if err := s.sweepPrefix(ctx, jobs); err != nil {
		return err
	}
	var files []prefixdir.File
	for again := false; ; again = true {
		err = s.window(ctx, s.p.flushWidth, func() (err error) {
			files, err = s.copyOut(ctx, d, jobs, false)
			return err
		})
		if err == nil || again || d.Bypass || fatal(ctx, err) {
			break
		}
		repair, aerr := s.any(ctx, damaged(err))
		if aerr != nil {
			return errors.Join(err, aerr)
		}
		if !repair {
			break
		}
		s.warn("scr: a cached file is damaged; rebuilding it", "dataset", d.Dataset.Name, "err", err)
		if _, rerr := redset.Recover(ctx, s.c, s.fs, groupPrefix(d.Path, cachedir.DataGroup), nil); rerr != nil {
			err = errors.Join(err, rerr)
			break
		}
	}
	var parts [][]byte
	if err == nil {
		parts, err = s.gatherFiles(ctx, files)
	}
	if err == nil && s.c.Rank() == 0 {
		err = s.finishFlush(ctx, d.Dataset, parts)
	} else if s.c.Rank() == 0 {
		err = errors.Join(err, s.flushFile(ctx, func(f *flushEdit) error { return f.moved(d.ID, false) }))
	}
	return s.agree(ctx, err)
}

// damaged says that a cached file is not what it was at Complete.
func damaged(err error) bool {
	return errors.Is(err, ErrChecksum) || errors.Is(err, ErrCorrupt) || errors.Is(err, fault.ErrTruncated) || errors.Is(err, fs.ErrNotExist)
}

// sweepPrefix removes what killed flushes left unfinished in the folders that this rank writes to; where all ranks write to one
// folder, rank 0 does.
func (s *Session) sweepPrefix(ctx context.Context, jobs []transfer.Job) error {
	dirs := map[string]bool{}
	for _, j := range jobs {
		if j.Dst != "" {
			dirs[path.Dir(j.Dst)] = true
		}
	}
	first := ""
	for d := range dirs {
		if first == "" || d < first {
			first = d
		}
	}
	b, err := s.c.Bcast(ctx, 0, []byte(first))
	if err != nil {
		return err
	}
	if s.c.Rank() != 0 {
		delete(dirs, string(b))
	}
	for d := range dirs {
		if _, err := transfer.Sweep(s.cfg.FS, d, s.opened); err != nil {
			s.log.Warn("scr: leftovers of a flush", "dir", d, "err", err)
		}
	}
	return nil
}

// bypassed brings to rank 0 the names of the files that the ranks have written to the prefix directory at once; a
// collective.
func (s *Session) bypassed(ctx context.Context, d *cachedSet) (map[string]bool, error) {
	if !d.Bypass {
		return nil, nil
	}
	var files []prefixdir.File
	var err error
	for _, f := range d.maps.Files() {
		var rel string
		if rel, err = s.relative(path.Join(f.Meta.Path, f.Meta.Name)); err != nil {
			break
		}
		files = append(files, prefixdir.File{Path: rel})
	}
	if err := s.agree(ctx, err); err != nil {
		return nil, err
	}
	parts, err := s.gatherFiles(ctx, files)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for r, b := range parts { // on rank 0
		var t *kvtree.Tree
		if t, err = kvtree.Unpack(b, nil); err == nil {
			files, err = prefixdir.ParseFiles(t, fmt.Sprintf("rank %d", r))
		}
		if err != nil {
			break
		}
		for _, f := range files {
			names[f.Path] = true
		}
	}
	return names, s.agree(ctx, err)
}

// announce enters the dataset in index and flush file before the first byte is written. there are files of it that are
// in the prefix directory already. Rank 0.
func (s *Session) announce(ctx context.Context, d *cachedSet, at prefixdir.Location, there map[string]bool) error {
	if s.c.Rank() != 0 {
		return nil
	}
	if err := s.replaced(ctx, d.Dataset, there); err != nil {
		return err
	}
	if err := s.prefix.CreateDataset(d.ID); err != nil {
		return err
	}
	if err := s.prefix.UpdateIndex(ctx, func(x *prefixdir.Index) error { return x.Add(d.Dataset, false) }); err != nil {
		return err
	}
	return s.flushFile(ctx, func(f *flushEdit) error { return f.moving(d.ID, at) })
}

// replaced deletes an older dataset of the same name from the prefix directory, but for what the new one has there
// already. Rank 0.
func (s *Session) replaced(ctx context.Context, ds record.Dataset, there map[string]bool) error {
	x, _, _, err := s.prefix.LoadIndex()
	if err != nil {
		return err
	}
	if e, ok := x.Entry(ds.Name); ok && e.ID != ds.ID {
		s.log.Info("scr: a dataset of the prefix directory is replaced", "name", ds.Name, "old", e.ID, "new", ds.ID)
		return s.prefix.DeleteExcept(ctx, ds.Name, there)
	}
	return nil
}

// flushJobs are the copies that this rank has to make. Bypassed files are where they belong already.
func (s *Session) flushJobs(ctx context.Context, d *cachedSet) ([]transfer.Job, error) {
	var jobs []transfer.Job
	for _, f := range d.maps.Files() {
		j := transfer.Job{Src: f.Name, Dst: path.Join(f.Meta.Path, f.Meta.Name), Size: f.Meta.Size, CRC: f.Meta.CRC, HasCRC: f.Meta.HasCRC,
			Meta: s.p.metadata}
		if s.cfg.Zstd {
			j.Compress, j.Dst = true, j.Dst+prefixdir.ZstdSuffix
		}
		jobs = append(jobs, j)
	}
	if !s.p.containers || d.Bypass || s.cfg.Daemon {
		return jobs, nil
	}
	return jobs, s.containers(ctx, d, jobs)
}

// containers sends the files to containers: one after the other, by node, rank and file, cut at the container size.
func (s *Session) containers(ctx context.Context, d *cachedSet, jobs []transfer.Job) error {
	var mine int64
	for i := range jobs {
		if jobs[i].Compress {
			jobs[i].Compress, jobs[i].Dst = false, strings.TrimSuffix(jobs[i].Dst, prefixdir.ZstdSuffix)
		}
		mine += jobs[i].Size
	}
	// Order: nodes by their first rank, then ranks.
	sizes, err := comm.Allreduce(ctx, s.c, oneHot(s.c.Size(), s.c.Rank(), mine), comm.Sum)
	if err != nil {
		return err
	}
	var at, total int64
	seen := map[string]bool{}
	var order []int
	for _, name := range s.node.names {
		if seen[name] {
			continue
		}
		seen[name] = true
		for q, other := range s.node.names {
			if other == name {
				order = append(order, q)
			}
		}
	}
	for _, r := range order {
		if r == s.c.Rank() {
			at = total
		}
		total += sizes[r]
	}
	name := func(n int64) string {
		return path.Join(s.prefix.DatasetDir(d.ID), fmt.Sprintf("ctr.%d.scr", n))
	}
	if s.p.containerMax <= 0 {
		return s.agree(ctx, fmt.Errorf("%w: SCR_CONTAINER_SIZE is %d", ErrUsage, s.p.containerMax))
	}
	var cerr error
	if s.c.Rank() == 0 {
		for n := int64(0); n*s.p.containerMax < total && cerr == nil; n++ {
			_ = s.cfg.FS.Remove(name(n))
			cerr = vfs.WriteFile(s.cfg.FS, name(n), nil)
		}
		if cerr == nil {
			cerr = s.cfg.FS.SyncDir(s.prefix.DatasetDir(d.ID))
		}
	}
	if err := s.agree(ctx, cerr); err != nil {
		return err
	}
	for i := range jobs {
		if jobs[i].Size == 0 {
			continue // an empty file has no place in a container: it is made as a file
		}
		jobs[i].Dst, jobs[i].Out = "", []transfer.Segment{}
		for left := jobs[i].Size; left > 0; {
			n, off := at/s.p.containerMax, at%s.p.containerMax
			k := min(left, s.p.containerMax-off)
			jobs[i].Out = append(jobs[i].Out, transfer.Segment{File: name(n), Offset: off, Length: k})
			at, left = at+k, left-k
		}
	}
	return nil
}

func oneHot(n, i int, v int64) []int64 {
	out := make([]int64, n)
	out[i] = v
	return out
}

// copyOut copies the files of this rank to the prefix directory and returns what the map is to say of them. In the
// background there are limits of bandwidth and CPU time.
func (s *Session) copyOut(ctx context.Context, d *cachedSet, jobs []transfer.Job, background bool) ([]prefixdir.File, error) {
	if err := s.step("copy"); err != nil {
		return nil, err
	}
	var res []transfer.Result
	if d.Bypass {
		for _, f := range d.maps.Files() {
			crc, size, err := syncFile(s.cfg.FS, f.Name)
			if err != nil {
				return nil, err
			}
			if size != f.Meta.Size {
				return nil, fmt.Errorf("%s: %w: %d bytes, at Complete it had %d", f.Name, ErrCorrupt, size, f.Meta.Size)
			}
			res = append(res, transfer.Result{Size: size, CRC: crc, Stored: size})
		}
	} else if background && s.cfg.Daemon {
		var err error
		if res, err = s.byDaemon(ctx, jobs); err != nil {
			return nil, err
		}
	} else {
		o := transfer.Options{FS: s.fs, DstFS: s.cfg.FS, Files: 1, Sync: !s.cfg.NoSync}
		if background {
			o.Rate, o.CPU = float64(s.p.rate)/float64(s.c.Size()), s.p.percent
		}
		e, err := transfer.New(o)
		if err != nil {
			return nil, err
		}
		// What an earlier flush of the dataset left whole is not copied again.
		if res, err = e.Start(ctx, jobs).Wait(ctx); err != nil {
			return nil, err
		}
	}
	var out []prefixdir.File
	for i, f := range d.maps.Files() {
		rel, err := s.relative(path.Join(f.Meta.Path, f.Meta.Name))
		if err != nil {
			return nil, err
		}
		pf := prefixdir.File{Path: rel, Size: res[i].Size, HasSize: true, CRC: res[i].CRC, HasCRC: true}
		if !d.Bypass && jobs[i].Compress {
			pf.Zstd = res[i].Stored
		}
		if !d.Bypass && jobs[i].Out != nil {
			for _, seg := range jobs[i].Out {
				at, err := s.relative(seg.File)
				if err != nil {
					return nil, err
				}
				pf.Segments = append(pf.Segments, prefixdir.Segment{File: at, Offset: seg.Offset, Length: seg.Length})
			}
		}
		out = append(out, pf)
	}
	return out, nil
}

// relative is the name of a file as the map has it.
func (s *Session) relative(name string) (string, error) {
	if len(name) <= len(s.p.prefix) || name[:len(s.p.prefix)] != s.p.prefix {
		return "", fmt.Errorf("scr: %s: %w %s", name, ErrOutside, s.p.prefix)
	}
	rel := name[len(s.p.prefix):]
	for len(rel) > 0 && rel[0] == '/' {
		rel = rel[1:]
	}
	return rel, nil
}

// gatherFiles brings what the map is to say to rank 0: the packed trees, by rank.
func (s *Session) gatherFiles(ctx context.Context, files []prefixdir.File) ([][]byte, error) {
	t, err := prefixdir.FilesTree(files)
	var b []byte
	if err == nil {
		b, err = t.Pack()
	}
	if err := s.agree(ctx, err); err != nil {
		return nil, err
	}
	return s.c.Gather(ctx, 0, b)
}

// finishFlush writes map, summary and index: the dataset is in the prefix directory. Rank 0.
func (s *Session) finishFlush(ctx context.Context, ds record.Dataset, parts [][]byte) error {
	if err := s.step("map"); err != nil {
		return err
	}
	err := s.prefix.WriteMap(ds.ID, len(parts), func(rank int) ([]prefixdir.File, error) {
		t, err := kvtree.Unpack(parts[rank], nil)
		if err != nil {
			return nil, err
		}
		return prefixdir.ParseFiles(t, fmt.Sprintf("rank %d", rank))
	})
	if err != nil {
		return err
	}
	if err := s.step("summary"); err != nil {
		return err
	}
	if err := s.prefix.WriteSummary(ds, true); err != nil {
		return err
	}
	if err := s.step("index"); err != nil {
		return err
	}
	err = s.prefix.UpdateIndex(ctx, func(x *prefixdir.Index) error {
		if err := x.Add(ds, true); err != nil {
			return err
		}
		if err := x.MarkFlushed(ds.Name, s.cfg.Clock()); err != nil {
			return err
		}
		if !ds.Checkpoint {
			return nil
		}
		if e, ok := x.Entry(x.Current()); ok && e.ID > ds.ID {
			return nil // an older one may be flushed later
		}
		return x.SetCurrent(ds.Name)
	})
	if err != nil {
		return err
	}
	if err := s.flushFile(ctx, func(f *flushEdit) error { return f.moved(ds.ID, true) }); err != nil {
		return err
	}
	return s.slide(ctx)
}

// slide deletes the oldest checkpoints of the prefix directory beyond SCR_PREFIX_SIZE. Output stays. Rank 0.
func (s *Session) slide(ctx context.Context) error {
	if s.p.prefixSize <= 0 {
		return nil
	}
	x, _, _, err := s.prefix.LoadIndex()
	if err != nil {
		return err
	}
	var kept int64
	for _, e := range x.Entries() {
		if !e.Dataset.Checkpoint || e.Dataset.Output || !e.Complete {
			continue
		}
		if kept++; kept > s.p.prefixSize && !e.Current {
			if err := s.prefix.Delete(ctx, e.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Session) logFlush(ds record.Dataset, from string, ok, async bool, began time.Time) {
	ev, kind := runlog.FlushFail, runlog.FlushSync
	switch {
	case ok && async:
		ev = runlog.AsyncFlushSuccess
	case ok:
		ev = runlog.FlushSuccess
	case async:
		ev = runlog.AsyncFlushFail
	}
	if async {
		kind = runlog.FlushAsync
	}
	s.event(runlog.Entry{Event: ev, Dset: runlog.Num(int64(ds.ID)), Name: ds.Name, Took: s.took(began)})
	if ok {
		s.xfer(kind, from, s.p.prefix, ds, ds.Name, began)
	}
}

const (
	tagGo = 7101 + iota
	tagDone
)

// window calls f on each rank, on at most width of them at once; rank 0 admits the others. After a failure the ranks
// that were not admitted yet are told to skip. The outcome is the same on all ranks.
func (s *Session) window(ctx context.Context, width int, f func() error) error {
	n := s.c.Size()
	if width >= n {
		return s.agree(ctx, f())
	}
	var mine error
	if s.c.Rank() != 0 {
		b, err := s.c.Recv(ctx, 0, tagGo)
		if err != nil {
			return err
		}
		ok := []byte{1}
		if len(b) == 1 && b[0] == 1 {
			if mine = f(); mine != nil {
				ok[0] = 0
			}
		}
		if err := s.c.Send(ctx, 0, tagDone, ok); err != nil {
			return err
		}
		return s.agree(ctx, mine)
	}
	mine = f()
	good := mine == nil
	next, waiting := 1, 1
	admit := func() error {
		b := []byte{0}
		if good {
			b[0] = 1
		}
		next++
		return s.c.Send(ctx, next-1, tagGo, b)
	}
	for next < n && next <= width {
		if err := admit(); err != nil {
			return err
		}
	}
	for ; waiting < n; waiting++ {
		b, err := s.c.Recv(ctx, waiting, tagDone)
		if err != nil {
			return err
		}
		good = good && len(b) == 1 && b[0] == 1
		if next < n {
			if err := admit(); err != nil {
				return err
			}
		}
	}
	return s.agree(ctx, mine)
}
