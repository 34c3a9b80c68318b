package write

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"blobio/blob/internal/checksum"
	"blobio/blob/internal/dataset"
	"blobio/comm"
	"blobio/internal/comm/remote"
	"blobio/internal/subfile"
)

// sealed is the message of a process about its part of a subfile, to the first rank of the subfile.
type sealed struct {
	err   error
	rank  int     // the world rank that failed with err
	redo  []int64 // extents that were put more than once
	segs  []extSeg
	ids   []int64 // process-centric: sub ranks of the process
	blobs []int64 // offsets of the blobs of ids

	whole int64 // all ranks of the process have put every record with a lower number

	prints []int64 // fingerprints of the maps of this process's ranks
	rows   []byte  // in a team that compresses: the chunks of this rank
}

// extSeg is a checksum segment of an extent.
type extSeg struct {
	ext int64
	checksum.Seg
}

// of takes the state of an engine. first is set on the first rank of the subfile, which needs not send its checksums.
func (o *sealed) of(e *Engine, first bool) {
	if e.Layout.Place.ByRank {
		for i, id := range e.Layout.Table.ID {
			o.ids = append(o.ids, int64(id))
			o.blobs = append(o.blobs, e.Layout.Table.Blob[i])
		}
	}
	if !e.team.one() && e.Pack != nil {
		o.rows = e.Pack.rows()
	}
	if !first {
		o.takeSums(e)
	}
}

// takeSums moves all checksums out of an engine, including those of records that are committed later, so that each is sent
// once.
func (o *sealed) takeSums(e *Engine) {
	e.Sums.Set.Mu.Lock()
	defer e.Sums.Set.Mu.Unlock()
	for x := range e.Sums.Set.Redo {
		o.redo = append(o.redo, x)
	}
	for x, list := range e.Sums.Set.Ext {
		for _, g := range list {
			o.segs = append(o.segs, extSeg{x, g})
		}
	}
	e.Sums.Set.Redo, e.Sums.Set.Ext = map[int64]bool{}, map[int64][]checksum.Seg{}
}

// giveSums adds the checksums that takeSums collected from one engine to e, another engine of the team.
func (o *sealed) giveSums(e *Engine) {
	for _, x := range o.redo {
		e.Sums.Set.Again(x)
	}
	for _, s := range o.segs {
		e.Sums.Set.Add(s.ext, s.Seg)
	}
}

// bytes encodes the message: 0, then counted lists of unsigned varints (a segment also has its checksum in 4 bytes), and at the
// end counted bytes. An error is encoded as 1, the rank, and the bytes of remote.Encode. An empty message has no bytes.
func (o *sealed) bytes() []byte {
	if o.err != nil {
		return append(binary.AppendUvarint([]byte{1}, uint64(o.rank)), remote.Encode(o.err)...)
	}
	if len(o.redo)+len(o.segs)+len(o.ids)+len(o.prints)+len(o.rows) == 0 && o.whole == 0 {
		return nil
	}
	b := make([]byte, 1, 16+16*len(o.segs))
	num := func(v ...int64) {
		for _, x := range v {
			b = binary.AppendUvarint(b, uint64(x))
		}
	}
	num(int64(len(o.redo)))
	num(o.redo...)
	num(int64(len(o.segs)))
	for _, s := range o.segs {
		num(s.ext, s.At, s.N)
		b = binary.LittleEndian.AppendUint32(b, s.CRC)
	}
	num(int64(len(o.ids)))
	num(o.ids...)
	num(o.blobs...)
	num(o.whole)
	num(int64(len(o.prints)))
	num(o.prints...)
	num(int64(len(o.rows)))
	return append(b, o.rows...)
}

var errSealed = errors.New("a message from another rank has an unknown format")

func (o *sealed) parse(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	if b[0] != 0 {
		rank, n := binary.Uvarint(b[1:])
		if n <= 0 {
			return errSealed
		}
		o.rank, o.err = int(rank), remote.Decode(b[1+n:])
		return nil
	}
	b = b[1:]
	ok := true
	num := func() int64 {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			ok, b = false, nil
			return 0
		}
		b = b[n:]
		return int64(v)
	}
	list := func(n int64) (l []int64) {
		for ; ok && n > 0; n-- {
			l = append(l, num())
		}
		return l
	}
	o.redo = list(num())
	for n := num(); ok && n > 0; n-- {
		s := extSeg{num(), checksum.Seg{At: num(), N: num()}}
		if len(b) < 4 {
			return errSealed
		}
		s.CRC = binary.LittleEndian.Uint32(b)
		b = b[4:]
		o.segs = append(o.segs, s)
	}
	n := num()
	o.ids, o.blobs = list(n), list(n)
	o.whole = num()
	o.prints = list(num())
	if n := num(); n >= 0 && n <= int64(len(b)) {
		o.rows, b = b[:n], b[n:]
	}
	if !ok || len(b) > 0 {
		return errSealed
	}
	return nil
}

// described is what the first rank of a subfile sends to world rank 0.
type described struct {
	Err     []byte           `json:"err,omitempty"` // error as encoded by remote.Encode; the other fields are then unset
	Rank    int              `json:"rank"`          // with Err: the world rank that has failed
	Prints  []int64          `json:"prints"`        // sums over the ranks of the subfile
	Subfile *subfile.Subfile `json:"subfile"`
}

// describe describes the subfile. The first rank of the subfile calls it.
func (c *commits) describe(told [][]byte, records int64) ([]byte, error) {
	e := c.job.Eng
	var blobs []int64
	var rows [][]byte
	d := described{Prints: make([]int64, e.Layout.Place.Header.Maps)}
	for r, b := range told {
		var o sealed
		if err := o.parse(b); err != nil {
			return nil, fmt.Errorf("%s: checksums of sub rank %d: %w", e.File.Name, r, err)
		}
		if o.err != nil {
			return nil, comm.MetBy(c.job.C, o.rank, o.err)
		}
		for k := range min(len(o.prints), len(d.Prints)) {
			d.Prints[k] += o.prints[k]
		}
		o.giveSums(e)
		rows = append(rows, o.rows)
		for i, id := range o.ids {
			for int64(len(blobs)) <= id {
				blobs = append(blobs, 0)
			}
			blobs[id] = o.blobs[i]
		}
	}
	if !e.team.one() && e.Pack != nil {
		if err := e.sealTeam(rows, records-e.Layout.Base, c.job.Opt.Durability != dataset.DurableNone); err != nil {
			return nil, err
		}
	}
	sf, err := e.Sums.Describe(records)
	if err != nil {
		return nil, err
	}
	sf.Blobs = e.Layout.Place.ManifestBlobs(blobs)
	d.Subfile = sf
	return json.Marshal(d)
}

// seal completes the subfiles. World rank 0 receives the descriptions of all subfiles from their first ranks. broken is an
// error of the communication; err is an error of this rank only.
func (c *commits) seal(ctx context.Context, records int64) (all [][]byte, broken, err error) {
	first := c.job.sub.Rank() == 0
	o := sealed{rank: c.job.C.Rank()}
	if c.job.Lead {
		if o.err = c.job.Eng.background.drain(); o.err == nil {
			o.err = c.job.Eng.Seal.Local(records, first, c.job.Opt.Durability != dataset.DurableNone, !c.going)
		}
		if cerr := c.job.Eng.Proc.Pool.CloseFile(c.job.Eng.File.Name); o.err == nil {
			o.err = cerr // some file systems report lost data only on close
		}
		o.err = c.job.Ten.Explain(o.err)
		o.of(c.job.Eng, first)
		o.prints = c.job.Prints()
	}
	err = o.err
	// The processes of this subfile send their state to its first rank.
	told := [][]byte{o.bytes()}
	if c.job.sub.Size() > 1 {
		if told, broken = c.job.sub.Gather(ctx, 0, told[0]); broken != nil {
			return nil, broken, nil
		}
	}
	var mine []byte
	if first && err == nil {
		mine, err = c.describe(told, records)
		err = c.job.Ten.Explain(err)
	}
	if first && err != nil {
		d := described{Rank: c.job.C.Rank(), Err: remote.Encode(err)}
		if re, ok := err.(*comm.RankError); ok { // another rank sent the error
			d = described{Rank: re.Rank, Err: remote.Encode(re.Err)}
		}
		mine, _ = json.Marshal(d)
	}
	if c.job.Subfiles == 1 {
		return [][]byte{mine}, nil, err
	}
	all, broken = c.job.C.Gather(ctx, 0, mine)
	return all, broken, err
}
