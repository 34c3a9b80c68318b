package redset

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"blobio/comm"
	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/scr/kvtree"
)

// encoding is the state of an Encode on one rank.
type encoding struct {
	s      *Set
	fs     vfs.FS
	prefix string
	paths  []string // paths in fs of the files
	files  []file

	lay   *layout
	ext   [][]extent
	descs []*desc
	h     *header
	store *store
	eng   *engine
	temps durable.Group // temporary files that were made so far
}

// Encode is a collective over the Comm of the set. It writes the redundancy files of all ranks. files are the files of this rank;
// there may be none. They must not change from now on. The paths of the redundancy files begin with prefix. If prefix contains a
// directory, the directory must exist. Ranks that share a directory may share the prefix.
//
// Encode first removes redundancy files with the same prefix and rank. When all ranks have written and synced the new redundancy
// files, these get their names. Therefore a redundancy file that exists can be trusted. After an error there are no redundancy
// files; the error has the same class on all ranks. Encode reads each byte of the protected files once. It neither changes nor
// syncs them.
func (s *Set) Encode(ctx context.Context, fsys vfs.FS, files []string, prefix string) error {
	e := s.newEncoding(fsys, prefix)
	own, err := e.run(ctx, files, Drop(e.fs, prefix, s.p.world))
	if err == nil {
		err = comm.Agree(ctx, s.world, own)
	}
	if err != nil {
		e.undo()
	}
	return err
}

// EncodeNext is Encode as one of several collective steps that share their exchanges of errors. mine is this rank's error of the
// step before; then all ranks return an error. If err is nil, own is an error of only this rank, and the caller must make it known
// to the other ranks, for example as mine of the next step. After such an error redundancy files may be left. There must be no
// redundancy files with the same prefix and rank.
func (s *Set) EncodeNext(ctx context.Context, fsys vfs.FS, files []string, prefix string, mine error) (own, err error) {
	e := s.newEncoding(fsys, prefix)
	own, err = e.run(ctx, files, mine)
	if err != nil {
		e.undo()
	}
	return own, err
}

func (s *Set) newEncoding(fsys vfs.FS, prefix string) *encoding {
	s.sums = nil
	return &encoding{s: s, fs: vfs.OrOS(fsys), prefix: prefix}
}

// run does the work of EncodeNext.
func (e *encoding) run(ctx context.Context, files []string, err error) (own, _ error) {
	s := e.s
	var list []byte
	if err == nil {
		err = e.prepare(files)
	}
	if err == nil {
		list, err = e.list()
	}
	if err != nil {
		list = nil
	}
	ok, xerr := e.exchange(ctx, list)
	if err == nil {
		err = xerr
	}
	if err == nil && ok { // the same on all members of the set
		err = e.compute(ctx, e.begin())
	}
	if err := comm.Agree(ctx, s.world, err); err != nil {
		return nil, err
	}
	return e.commit(), nil
}

// compute writes the redundancy, under temporary names. A member that has failed takes part, because the others wait for it.
func (e *encoding) compute(ctx context.Context, failed error) error {
	if err := e.eng.share(ctx, e.store); err != nil {
		return errors.Join(failed, err)
	}
	err := e.eng.run(ctx)
	if failed != nil {
		err = failed
	}
	if err == nil {
		err = e.unchanged()
	}
	ok, terr := e.eng.tell(ctx, err)
	if err == nil {
		err = terr
	}
	if err == nil && ok {
		err = e.finish()
	}
	return err
}

// prepare examines the files.
func (e *encoding) prepare(files []string) error {
	seen := map[string]bool{}
	for _, name := range files {
		if name == "" || strings.ContainsRune(name, 0) || seen[name] {
			return fault.Usage("file name %.80q is empty, contains a zero byte, or is given twice", name)
		}
		seen[name] = true
		path := resolve(e.s.o.Root, name)
		m, err := vfs.MetaOf(e.fs, path)
		if err != nil {
			return err
		}
		e.paths = append(e.paths, path)
		e.files = append(e.files, file{name, m})
	}
	return nil
}

// list returns the list of files as a message for other ranks.
func (e *encoding) list() ([]byte, error) {
	if e.s.p.gen == GenC {
		return encodeTree(e.s.p.newDescTree(e.files))
	}
	return encodeTree(e.s.p.newCurrentTree(e.files, e.s.o.FileMeta))
}

// exchange sends each member's list of files to all members of the set. A member that has failed sends an empty list. Then ok is
// false on all members, and the caller must agree on the error.
func (e *encoding) exchange(ctx context.Context, own []byte) (ok bool, err error) {
	s := e.s
	all, err := s.sc.Allgather(ctx, own)
	if err != nil || anyEmpty(all) {
		return false, err
	}
	e.descs = make([]*desc, s.p.n)
	sizes, total := make([][]int64, s.p.n), int64(0)
	for m, b := range all {
		t, _, err := decodeTree("", b)
		if err == nil {
			e.descs[m], err = parseAny(t, s.p, m)
		}
		if err != nil {
			return false, err // all members of this set have the same bytes and get the same error
		}
		sizes[m] = e.descs[m].sizes()
		if total += e.descs[m].size(); total > maxBytes {
			return false, fault.Usage("the files of a set have more than %d bytes", int64(maxBytes))
		}
	}
	e.lay = newLayout(s.p.scheme, s.p.k, sizes)
	for m := range sizes {
		e.ext = append(e.ext, e.lay.extents(sizes[m]))
	}
	return true, nil
}

// anyEmpty reports whether a member has sent no bytes. Such a member has failed.
func anyEmpty(all [][]byte) bool {
	return slices.ContainsFunc(all, func(b []byte) bool { return len(b) == 0 })
}

// parseAny parses the list of member m of the set of p.
func parseAny(t *kvtree.Tree, p position, m int) (*desc, error) {
	if p.gen == GenC {
		return parseDesc(t)
	}
	p.rank = m
	return parseCurrent(t, p)
}

// begin makes the jobs, and creates the redundancy file without its payload. After an error the jobs can run without this file.
func (e *encoding) begin() error {
	s := e.s
	e.eng = &engine{lay: e.lay, ext: e.ext, c: s.sc, me: s.p.rank, fresh: true, noSums: s.o.NoSums}
	for c := range e.lay.stripes() {
		j := &job{c: c, worker: e.lay.worker(c)}
		for _, el := range e.lay.elems(c) {
			if el.parity {
				j.out = append(j.out, el)
			} else {
				j.in = append(j.in, el)
			}
		}
		if j.worker == s.p.rank && len(j.out) > 0 {
			var err error
			if j.code, err = e.lay.newCoder(c, j.in, j.out); err != nil {
				j.code = noCoder{err}
			}
		}
		if len(j.out) > 0 || !s.o.NoSums {
			e.eng.jobs = append(e.eng.jobs, j)
		}
	}
	e.store = &store{in: newLogical(e.fs, false)}
	for i, f := range e.files {
		e.store.in.add(e.paths[i], f.meta.Size)
	}
	e.h = e.header(s.p.rank)
	b, err := e.h.encode()
	if err != nil {
		return err
	}
	name := s.p.dataName(e.prefix)
	f, err := createTemp(e.fs, name)
	if err != nil {
		return err
	}
	e.temps.Add(f)
	e.store.payOut, e.store.payOutOff = &output{File: f}, int64(len(b))
	_, err = f.WriteAt(b, 0)
	return err
}

func (e *encoding) header(m int) *header {
	p := e.descs[m].position
	var extra *kvtree.Tree
	if p.gen != GenC {
		extra = newExtraTree(p.worlds, e.s.o.Dataset)
	}
	return newHeader(p, e.lay, e.descs, e.s.ranks, extra)
}

func (e *encoding) unchanged() error {
	for _, j := range e.eng.in {
		for _, o := range j {
			if o.bad {
				return errors.Join(fmt.Errorf("a file could not be read, or became shorter (%w)", fault.ErrChanged), o.err)
			}
		}
	}
	for i, f := range e.files {
		m, err := vfs.MetaOf(e.fs, e.paths[i])
		if err != nil {
			return err
		}
		if m.Size != f.meta.Size || !m.Mtime.Equal(f.meta.Mtime) {
			return fmt.Errorf("%s: %w", e.paths[i], fault.ErrChanged)
		}
	}
	return nil
}

// dirOf returns the directory of the files whose paths begin with prefix.
func dirOf(prefix string) string { return filepath.Dir(prefix + "x") }
