package write

import (
	"blobio/blob/internal/dataset"
	"blobio/comm"
	"blobio/internal/comm/remote"
	"context"
	"encoding/json"
	"fmt"
	"slices"
)

// undividedReport is the message of one rank with its items, or of world rank 0 with the items of all ranks.
type undividedReport struct {
	Err   []byte          `json:"err,omitempty"` // as remote.Encode makes it
	Rank  int             `json:"rank"`          // that met Err
	Items []undividedItem `json:"items"`
}

// undividedInline is how many bytes of values a rank sends with the list of what it has.
const undividedInline = 1 << 10

// exchangeUndivided brings what ranks have put of undivided variables to all ranks. On the first ranks of subfiles it takes the place of
// their own puts. All ranks return the same error, such as two values for one element. Collective.
func (ps *puts) exchangeUndivided(ctx context.Context, mine []part, b *Flushing) error {
	e := ps.job.Eng
	own, err := e.undividedItems(mine)
	items, err := ps.shareUndivided(ctx, own, err)
	if err != nil {
		return err
	}
	var merged []undividedItem
	for len(items) > 0 {
		n := 1
		for n < len(items) && items[n].V == items[0].V && items[n].Rec == items[0].Rec {
			n++
		}
		it, err := e.merge(items[:n])
		if err != nil {
			return err
		}
		merged, items = append(merged, it), items[n:]
	}
	if ps.job.sub.Rank() == 0 {
		ps.list = slices.DeleteFunc(ps.list, func(p Pend) bool { return e.Layout.Schema.Vars[p.V].Decomp == 0 })
		ps.parts = nil
	}
	b.keys = slices.DeleteFunc(b.keys, func(k varRec) bool { return e.Layout.Schema.Vars[k.v].Decomp == 0 })
	for _, it := range merged {
		sv := &e.Layout.Schema.Vars[it.V]
		p := Pend{V: it.V, Rec: it.Rec, Mem: sv.Type}
		if ps.job.apart() {
			b.keys = append(b.keys, varRec{it.V, it.Rec})
		}
		ps.sawRecord(sv, it.Rec)
		if ps.job.sub.Rank() != 0 {
			continue
		}
		if it.Size == e.Layout.Schema.Elems(dataset.VarID(it.V))*int64(sv.Type.Size()) {
			p.Raw = it.Raw
			ps.list = append(ps.list, p)
			continue
		}
		pos, size := int64(0), int64(sv.Type.Size())
		for _, r := range it.Runs {
			p.Raw = it.Raw[pos*size : (pos+r[1])*size]
			ps.parts = append(ps.parts, part{Pend: p, flat: true, start: []int64{r[0]}, count: []int64{r[1]}})
			pos += r[1]
		}
	}
	slices.SortFunc(b.keys, e.Layout.order)
	if b.alike != notAlike {
		b.alike = allAlike // all know what the first ranks have
	}
	return nil
}

// shareUndivided sends the items of each rank to all ranks, of equal ones only the first. err is of this rank. Collective.
func (ps *puts) shareUndivided(ctx context.Context, own []undividedItem, err error) ([]undividedItem, error) {
	report := undividedReport{Rank: ps.job.C.Rank()}
	bytes := int64(0)
	for i := range own {
		own[i].Rank = ps.job.C.Rank()
		bytes += own[i].Size
	}
	if err != nil {
		report.Err = remote.Encode(err)
	} else {
		report.Items = slices.Clone(own)
		for i := range report.Items {
			if it := &report.Items[i]; bytes <= undividedInline {
				it.Sent = true
			} else {
				it.Raw = nil
			}
		}
	}
	var msg []byte
	if report.Err != nil || len(report.Items) > 0 {
		if msg, err = json.Marshal(&report); err != nil {
			return nil, err
		}
	}
	all, err := ps.job.C.Gather(ctx, 0, msg)
	if err != nil {
		return nil, err
	}
	if ps.job.C.Rank() == 0 {
		if msg, err = json.Marshal(gatherUndivided(all)); err != nil {
			return nil, err
		}
	} else {
		msg = nil
	}
	if msg, err = ps.job.C.Bcast(ctx, 0, msg); err != nil {
		return nil, err
	}
	report = undividedReport{}
	if err = json.Unmarshal(msg, &report); err != nil {
		return nil, fmt.Errorf("what ranks have put: %w", err)
	}
	if report.Err != nil {
		return nil, comm.MetBy(ps.job.C, report.Rank, remote.Decode(report.Err))
	}
	return report.Items, ps.sendUndivided(ctx, own, report.Items)
}

// gatherUndivided makes one report from the reports of all ranks, on world rank 0.
func gatherUndivided(all [][]byte) *undividedReport {
	var items []undividedItem
	for r, b := range all {
		if len(b) == 0 {
			continue
		}
		var t undividedReport
		if err := json.Unmarshal(b, &t); err != nil {
			return &undividedReport{Rank: r, Err: remote.Encode(fmt.Errorf("what rank %d has put: %w", r, err))}
		}
		if t.Err != nil {
			return &t
		}
		items = append(items, t.Items...)
	}
	return &undividedReport{Items: differing(items)}
}

// sendUndivided fills in the values that were not sent with the list: each rank that has some sends them to all.
func (ps *puts) sendUndivided(ctx context.Context, own, items []undividedItem) error {
	var ranks []int
	for i := range items {
		if it := &items[i]; !it.Sent && it.Size > 0 {
			ranks = append(ranks, it.Rank)
		}
	}
	slices.Sort(ranks)
	for _, root := range slices.Compact(ranks) {
		var buf []byte
		if root == ps.job.C.Rank() {
			for _, it := range items {
				if it.Rank != root {
					continue
				}
				k := slices.IndexFunc(own, func(o undividedItem) bool { return o.V == it.V && o.Rec == it.Rec })
				buf = append(buf, own[k].Raw...)
			}
		}
		buf, err := ps.job.C.Bcast(ctx, root, buf)
		if err != nil {
			return err
		}
		for i := range items {
			if it := &items[i]; it.Rank == root {
				it.Raw, buf = buf[:it.Size:it.Size], buf[it.Size:]
			}
		}
	}
	return nil
}
