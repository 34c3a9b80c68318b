package write

import (
	"blobio/blob/internal/dataset"
	"blobio/comm"
	"blobio/internal/comm/remote"
	"blobio/internal/subfile"
	"context"
	"encoding/json"
	"fmt"
)

// described is what the first rank of a subfile tells world rank 0.
type described struct {
	Err     []byte           `json:"err,omitempty"` // as remote.Encode makes it; the rest is not known then
	Rank    int              `json:"rank"`          // with Err: the world rank that met it
	Prints  []int64          `json:"prints"`        // sums over its ranks
	Subfile *subfile.Subfile `json:"subfile"`
}

// describe describes the subfile of which this is the first rank.
func (c *commits) describe(told [][]byte, records int64) ([]byte, error) {
	e := c.job.Eng
	var blobs []int64
	var rows [][]byte
	d := described{Prints: make([]int64, e.Layout.Place.NumMaps())}
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

// seal completes the subfiles. World rank 0 gets what all ranks tell of them: descriptions of subfiles by
// their first ranks, and sums of the maps. broken is an error of the communication, err
// is of this rank alone.
func (c *commits) seal(ctx context.Context, records int64) (all [][]byte, broken, err error) {
	first := c.job.sub.Rank() == 0
	o := sealed{rank: c.job.C.Rank()}
	if c.job.Lead {
		if o.err = c.job.Eng.background.drain(); o.err == nil {
			o.err = c.job.Eng.Seal.Local(records, first, c.job.Opt.Durability != dataset.DurableNone, !c.going)
		}
		if cerr := c.job.Eng.Proc.Pool.CloseFile(c.job.Eng.File.Name); o.err == nil {
			o.err = cerr // some file systems tell only now that data are lost
		}
		o.err = c.job.Ten.Explain(o.err)
		o.of(c.job.Eng, first)
		o.prints = c.job.Prints()
	}
	err = o.err
	// Processes that share this subfile bring what they know to its first rank.
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
		if re, ok := err.(*comm.RankError); ok { // another one has told it
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
