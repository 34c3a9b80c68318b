package ffformat

import (
	"blobio/internal/base/fault"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

// walker finds the records of a damaged file by the rules for their fields. It succeeds where Decode stops at a bad header. The
// containers of a block are adjacent, and their sizes add up to dbsize.
type walker struct {
	d decoder
	f *File // has only the file block and the layout

	mended []Finding
}

// rewalk returns all blocks of f if they fill their space exactly, and otherwise nil.
func (w *walker) rewalk() ([]Block, error) {
	l := w.f.Layout
	from, end := w.f.FB.DataSize, w.d.size-l.fbSize()
	if !l.atEnd() {
		from, end = l.fbSize(), w.d.size
	}
	if from < 0 || from > end {
		return nil, nil
	}
	var blocks []Block
	var data, meta int64 // end of the containers, and sum of the metadata
	for at := from; at < end; {
		first := data
		if !l.atEnd() {
			first = -1 // the first container is behind the records, whose number is unknown
		}
		b, err := w.block(at, end, first)
		if b == nil || err != nil {
			return nil, onlyIO(err)
		}
		n := l.blockMeta(len(b.Containers))
		w.size(b)
		if meta += n; meta > w.d.maxMeta {
			return nil, nil
		}
		at += n
		data = b.Containers[len(b.Containers)-1].Fptr + b.Containers[len(b.Containers)-1].ContainerSize
		if !l.atEnd() {
			at = data
		}
		blocks = append(blocks, *b)
	}
	if l.atEnd() && data != from {
		return nil, nil
	}
	return blocks, nil
}

// size corrects dbsize.
func (w *walker) size(b *Block) {
	l := w.f.Layout
	want := int64(0)
	if !l.atEnd() {
		want = l.blockMeta(len(b.Containers))
	}
	for i := range b.Containers {
		want += b.Containers[i].ContainerSize
	}
	if b.Size != want {
		w.mended = append(w.mended, Finding{Severity: fault.Note, File: w.f.Name, Offset: b.Offset + int64(l.table().bmd.dbsize.off), Field: "dbsize", Msg: fmt.Sprintf("%d, was %d", want, b.Size)})
		b.Size = want
	}
}

// block reads the block at byte at. The block must end before end. Its first container is at byte first of the file or, if
// first is -1, directly after the records. block returns nil if no number of records fits.
func (w *walker) block(at, end, first int64) (*Block, error) {
	l := w.f.Layout
	t := l.table()
	head, err := w.d.read(at, l.blockMeta(1))
	if err != nil {
		return nil, err
	}
	n, b := decodeBMD(l, head, at)
	if first < 0 {
		// Compute the number of records from the offset of the first container.
		if k := t.vmd.fptr.get(head[l.bmdSize():]) - at - l.bmdSize(); k > 0 && k%l.vmdSize() == 0 {
			n = k / l.vmdSize()
		}
		first = at + l.bmdSize() + n*l.vmdSize()
	}
	most := (end - at - l.bmdSize()) / l.vmdSize()
	if n > 0 && n <= most {
		if ok, err := w.records(&b, n, first, false); ok || err != nil {
			return &b, err
		}
	}
	// Find the number of records by the sum of their sizes.
	want := b.Size
	b = Block{Offset: at, Size: want}
	if ok, err := w.records(&b, most, first, true); ok || err != nil {
		return &b, err
	}
	return nil, nil
}

// records reads n records of b. If sum is true, it reads at most n records, until their container sizes add up to b.Size. It
// reports whether the containers are adjacent from byte first on.
func (w *walker) records(b *Block, n, first int64, sum bool) (bool, error) {
	l := w.f.Layout
	base := b.Offset + l.bmdSize()
	b.Containers = nil
	total := int64(0)
	const batch = 1024
	for i := int64(0); i < n; i += batch {
		k := min(batch, n-i)
		raw, err := w.d.read(base+i*l.vmdSize(), k*l.vmdSize())
		if err != nil {
			return false, err
		}
		part := Block{}
		part.decodeVMDs(l, raw, int(k))
		for _, c := range part.Containers {
			if c.Fptr != first+total || c.ContainerSize < 0 || c.ContainerSize > w.d.size-total || c.ChunkSize < 0 || c.ChunkSize > c.ContainerSize {
				return false, nil
			}
			total += c.ContainerSize
			b.Containers = append(b.Containers, c)
			if sum && total == b.Size && total > 0 {
				return true, nil
			}
		}
	}
	return !sum && len(b.Containers) > 0, nil
}

// better looks for records that a lenient Decode did not find. why is the fault of the file. If better finds all records, it
// sets w.f and adds the faults to the actions of the report.
func (w *repairing) better(ctx context.Context, size int64, name string, why error) error {
	d := decoder{r: w.r, size: size, name: name, maxMeta: maxMeta, Options: Options{Layout: w.Layout}}
	g, err := d.byHash()
	if isIO(err) {
		return err
	}
	wk := &walker{d: d}
	var blocks []Block
	switch {
	case g != nil && err != nil && !g.Parity: // the file block is valid
		wk.f = g
		if blocks, err = wk.rewalk(); err == nil && blocks == nil && g.Layout == LayoutD && w.Layout == 0 {
			g.Layout = LayoutC // C and D have the same file block, so try C, too
			blocks, err = wk.rewalk()
		}
	case g == nil && w.f != nil && !w.f.Layout.atEnd():
		wk.f = w.f
		blocks, err = wk.rewalk()
	case g == nil:
		blocks, err = wk.search(ctx)
	}
	if err != nil || blocks == nil {
		return err
	}
	g = wk.f
	g.Damaged, g.Blocks = nil, blocks
	for _, err := range split(why) {
		var fe *FormatError
		if errors.As(err, &fe) && fe.Err != ErrNotFormat && w.f != nil && w.f.Layout == g.Layout {
			w.rep.Actions = append(w.rep.Actions, Finding{Severity: fault.Note, File: name, Offset: fe.Offset, Field: fe.Field, Msg: "value restored from the headers: " + fe.Msg})
		}
	}
	w.rep.Actions = append(w.rep.Actions, wk.mended...)
	if g.Layout.atEnd() {
		g.FB.MetaSize = size - g.FB.DataSize
	}
	g.FB.CkptSize, g.FB.FileSize = size, size
	w.f = g
	if len(w.rep.Actions) == 0 {
		w.act(g.FileBlockOffset(), "FB", "rebuilt, because the hash is wrong")
	}
	return nil
}

// maxTries is the maximum number of offsets tried for the first block.
const maxTries = 10_000

// search looks for records of layouts C0 to F that end at a damaged file block. It sets w.f.
func (w *walker) search(ctx context.Context) ([]Block, error) {
	from := max(0, w.d.size-maxScan)
	b, err := w.d.read(from, w.d.size-from)
	if err != nil {
		return nil, onlyIO(err)
	}
	tries := 0
	for _, l := range w.d.layouts() {
		end := int64(len(b)) - l.fbSize()
		if !l.atEnd() || end < 0 {
			continue
		}
		t := &l.table().vmd
		for p := end - l.blockMeta(1); p >= 0; p-- {
			v := b[p+l.bmdSize():]
			if t.fptr.get(v) != 0 || t.dptr.get(v) != 0 || t.containerID.get(v) != 0 {
				continue
			}
			if room := t.room.get(v); room <= 0 || room > from+p || t.chunk.get(v) > room {
				continue
			}
			if tries++; tries > maxTries || ctx.Err() != nil {
				return nil, ctx.Err()
			}
			w.f, w.mended = w.d.file(l, b[end:]), nil
			w.f.FB.DataSize = from + p
			blocks, err := w.rewalk()
			if err != nil {
				return nil, err
			}
			if blocks != nil {
				return blocks, nil
			}
		}
	}
	return nil, nil
}

// kind determines the kind of hash from the chunks if the file block does not give it.
func (w *repairing) kind(ctx context.Context) error {
	f := w.f
	if f.Layout != LayoutF {
		return nil
	}
	if bs, ok, err := parseFast(f.FB.Checksum); ok && err == nil {
		f.Hash, f.BlockSize = Fast, bs
		return nil
	}
	if isHex([]byte(f.FB.Checksum)) && len(f.FB.Checksum) == 32 && f.Hash == MD5 {
		return nil
	}
	var best []place
	for p := range f.all() {
		if p.HasContent && p.ChunkSize > 0 {
			best = append(best, p)
		}
	}
	slices.SortStableFunc(best, func(a, b place) int { return cmp.Compare(b.ChunkSize, a.ChunkSize) })
	sizes := []int{0, f.BlockSize, defaultBlockSize}
	for bs := minBlockSize; bs <= maxBlockSize; bs *= 2 {
		sizes = append(sizes, bs)
	}
	for _, p := range best[:min(3, len(best))] {
		for i, bs := range sizes {
			if i == 1 && (bs < minBlockSize || bs > maxBlockSize) {
				continue
			}
			g := &File{Name: f.Name, Layout: f.Layout, Size: f.Size, BlockSize: bs}
			if i > 0 {
				g.Hash = Fast
			}
			m := mender{repairing: &repairing{f: g, r: w.r, Options: w.Options}, ctx: ctx, budget: f.Size}
			if ok, err := m.matches(p.Fptr, p.ChunkSize, p.Hash); err != nil {
				return err
			} else if ok {
				f.Hash, f.BlockSize = g.Hash, g.BlockSize
				return nil
			}
		}
	}
	return nil
}
