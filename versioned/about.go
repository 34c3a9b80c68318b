package versioned

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math"
	"slices"

	"github.com/zeebo/xxh3"

	"blobio/ffformat"
)

// aboutID is the variable of a data file that says what the file is of; others are less.
const aboutID = math.MaxInt32

// maxAbout is how many bytes it may have.
const maxAbout = 64 << 20

// about is what a data file knows of its array, so that a record that is lost can be made anew: see Rebuild.
type about struct {
	Seq   int64  `json:"seq"`  // of the commit
	Node  int    `json:"node"` // that wrote the file
	Spec  spec   `json:"array"`
	Order string `json:"byte_order"`
	Key   string `json:"key,omitempty"`

	Generations []geometry `json:"generations"` // of Versions
	// Versions are the one that the file was written for, which is the last, and others that no other file may tell of: those that have none, and, where
	// files go with this version, all that stay.
	Versions []verInfo `json:"versions"`
}

// aboutOf is what a file of a version says. dead says that files go with it.
func aboutOf(rec *record, node int, v verInfo, keep []int64, dead bool) *about {
	x := &about{Seq: rec.Seq, Node: node, Spec: rec.Spec, Order: rec.Order, Key: rec.Key}
	for _, o := range rec.Versions {
		if _, stays := slices.BinarySearch(keep, o.Number); stays && (dead || o.Changed == 0) {
			x.Versions = append(x.Versions, o)
		}
	}
	x.Versions = append(x.Versions, v)
	for _, g := range rec.Generations {
		if slices.ContainsFunc(x.Versions, func(v verInfo) bool { return v.Gen == g.ID }) {
			x.Generations = append(x.Generations, g)
		}
	}
	return x
}

// readAbout is nil for files that were written without it.
func readAbout(ctx context.Context, r *ffformat.Reader, name string) (*about, error) {
	if !slices.ContainsFunc(r.File().Vars(), func(v ffformat.VarInfo) bool { return v.ID == aboutID }) {
		return nil, nil
	}
	n, err := r.VarSize(aboutID)
	if err != nil {
		return nil, err
	}
	if n > min(maxAbout, r.File().Size) {
		return nil, formatErr(name, -1, "about", ErrTooLarge, "%d bytes", n)
	}
	b := make([]byte, n)
	if err := r.ReadVar(ctx, aboutID, b); err != nil {
		return nil, err
	}
	x := &about{}
	if err := json.Unmarshal(b, x); err != nil || len(x.Versions) == 0 {
		return nil, formatErr(name, -1, "about", ErrCorrupt, "%d versions: %v", len(x.Versions), err)
	}
	return x, nil
}

// stateSum is the sum of a version: of those of its segments, in their order.
func stateSum(segs [][]byte) string {
	h := xxh3.New()
	for _, s := range segs {
		_, _ = h.Write(s)
	}
	sum := h.Sum128().Bytes()
	return hex.EncodeToString(sum[:])
}

// segSum is the sum of a segment: of the digests of its chunks, in their order.
func segSum(n int, at func(k int) digest) []byte {
	h := xxh3.New()
	for k := range n {
		d := at(k).Bytes()
		_, _ = h.Write(d[:])
	}
	sum := h.Sum128().Bytes()
	return sum[:]
}

// weigh gives a version its time and the sum of what all ranks have for it. It is collective.
func (a *Array) weigh(ctx context.Context, p *part, v *verInfo) error {
	b := binary.LittleEndian.AppendUint64(nil, uint64(a.opt.Clock().UnixNano()))
	if p.err == nil {
		b = append(b, segSum(len(p.sums), func(k int) digest { return p.sums[k] })...)
	}
	all, err := a.c.Allgather(ctx, b)
	if err != nil {
		return err
	}
	segs := make([][]byte, len(all)) // what others see is not changed
	for r, b := range all {
		if len(b) < 8 {
			return formatErr("", int64(len(b)), "message", ErrTruncated, "%d bytes, want 8", len(b)) // the same on all ranks
		}
		segs[r] = b[8:]
	}
	v.Time = int64(binary.LittleEndian.Uint64(all[0]))
	v.Sum = stateSum(segs) // if a rank has failed, there will be no such version
	return nil
}
