package bench

import (
	"context"
	"fmt"
	"math/rand/v2"

	"blobio/blob"
	"blobio/e3smcases"
)

// The data for measuring compression. There are no constant fields, because they compress far better than fields of models.
var compressData = []struct {
	name string
	fill func(t *task, data []rankData) error // applied after the smooth pattern
}{
	{"smooth", nil},
	{"noise", (*task).noise},
	{"smooth with fill values", (*task).mask},
}

// compressWays are measured in turn; the first is without compression.
var compressWays = func() (ways []blob.Compress) {
	for _, word := range []string{"off", "auto", "zstd", "shuffle+zstd"} {
		var c blob.Compress
		if err := c.Set(word); err != nil {
			panic(err)
		}
		ways = append(ways, c)
	}
	return ways
}()

// noise makes all floating-point values uniform between -1 and 1: about 26 of their 32 bits are random.
func (t *task) noise(data []rankData) error {
	for r := range data {
		rnd := rand.New(rand.NewPCG(uint64(r), 7))
		for _, recs := range data[r] {
			for _, x := range recs {
				switch x := x.(type) {
				case []float32:
					for i := range x {
						x[i] = 2*rnd.Float32() - 1
					}
				case []float64:
					for i := range x {
						x[i] = 2*rnd.Float64() - 1
					}
				}
			}
		}
	}
	return nil
}

// mask sets 3 of 10 patches of 64 columns to the fill value 1e20 in all decomposed variables, like land in ocean fields.
func (t *task) mask(data []rankData) error {
	for r := range data {
		for v, recs := range data[r] {
			cv := &t.c.Vars[v]
			if cv.Map == 0 {
				continue
			}
			shape := t.c.Shape(v)
			last := shape[len(shape)-1]
			for _, x := range recs {
				k := 0
				for q := range t.maps[cv.Map-1].Reqs(r) {
					for at := q.Offset; at < q.Offset+q.Length; at, k = at+1, k+1 {
						if patch := uint64(at%last) / 64 * 0x9e3779b97f4a7c15 >> 32; patch%10 >= 3 {
							continue
						}
						switch x := x.(type) {
						case []float32:
							x[k] = 1e20
						case []float64:
							x[k] = 1e20
						}
					}
				}
			}
		}
	}
	return nil
}

// compress measures process-centric files with and without compression in the same run: writing, and reading a variable and one
// of its levels. All rows count uncompressed bytes, so that rates can be compared.
func (s *session) compress(ctx context.Context) error {
	j, data := s.fCase("h0", 64)
	if !s.Quick {
		j.Maps.Ne = 16
		data = "F h0 ne16, 64 ranks"
	}
	if err := s.room(3 << 30); err != nil && !s.Quick {
		return err
	}
	t, err := j.load()
	if err != nil {
		return err
	}
	if t.values, err = e3smcases.NewValues(t.c, e3smcases.Smooth, j.Float); err != nil {
		return err
	}
	for _, d := range compressData {
		all, err := t.fillAll()
		if err != nil {
			return err
		}
		if d.fill != nil {
			if err := d.fill(t, all); err != nil {
				return err
			}
		}
		if err := s.compressed(ctx, t, all, data+", "+d.name); err != nil {
			return err
		}
		if err := s.sweep(); err != nil {
			return err
		}
	}
	return nil
}

// compressName returns the name for the column Who.
func compressName(c blob.Compress) string {
	if !c.On() {
		return pcName
	}
	return pcName + ", " + c.String()
}

func (s *session) compressed(ctx context.Context, t *task, all []rankData, data string) error {
	lent := int64(0)
	for _, d := range all {
		lent += d.bytes()
	}
	name := func(k int) string { return s.path(fmt.Sprintf("z%d", k)) }
	var list []runner
	for k, way := range compressWays {
		row := &Row{Data: data, What: "write", Who: compressName(way), Ranks: t.Ranks, Bytes: lent}
		list = append(list, runner{row: row,
			clear: func() error { return removeDataset(name(k)) },
			run: func(ctx context.Context) (Took, error) {
				o := t.options(blob.ProcessCentric)
				o.Compress = way
				took, err := t.once(ctx, all, name(k), o)
				if err != nil {
					return took, err
				}
				size, err := datasetBytes(ctx, name(k))
				row.Note = fmt.Sprintf("files of %.1f MiB, 1/%.2f of the data", float64(size)/(1<<20), float64(lent)/float64(size))
				return took, err
			},
			bound: s.rawWrites(rawWriting{writers: writers()})})
	}
	if err := s.race(ctx, true, list...); err != nil {
		return err
	}
	var made []stored
	for k, way := range compressWays {
		made = append(made, stored{compressName(way), name(k)})
	}
	deep := t.find(3)
	shape := t.c.Shape(deep)
	return s.readings(ctx, t, made, data, []reading{
		{what: "read a variable (lev x ncol)", v: deep},
		{what: "read one level", v: deep, start: []int64{0, shape[0] / 2, 0}, count: []int64{1, 1, shape[1]}},
	})
}
