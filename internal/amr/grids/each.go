package grids

import (
	"context"
	"slices"

	"blobio/internal/base/par"
)

// Limits of the data that are read at once.
const (
	chunkCells = 1 << 18
	chunkBoxes = 256
)

// each reads fields of boxes and calls do with the values of each box, on several goroutines. It calls done with each result of
// do, always in the order of the source's rows.
func each[T any](ctx context.Context, m *Mesh, list []ref, fields []int, do func(r ref, values [][]float64) (T, error), done func(r ref, x T) error) error {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b ref) int {
		return m.Levels[a.level].Boxes[a.box].Row - m.Levels[b.level].Boxes[b.box].Row
	})
	var chunks [][]ref
	for first, i, cells := 0, 0, int64(0); i < len(list); i++ {
		cells += m.Levels[list[i].level].Boxes[list[i].box].Cells() * int64(max(len(fields), 1))
		if i+1 == len(list) || cells >= chunkCells || i+1-first >= chunkBoxes {
			chunks = append(chunks, list[first:i+1])
			first, cells = i+1, 0
		}
	}
	type result struct {
		list []T
		err  error
	}
	for i, x := range par.Ordered(ctx, par.Workers(0), len(chunks), func(ctx context.Context, i int) (x result) {
		x.list = make([]T, len(chunks[i]))
		x.err = m.src.read(ctx, m, chunks[i], fields, func(k int, values [][]float64) (err error) {
			x.list[k], err = do(chunks[i][k], values)
			return err
		})
		return x
	}) {
		if x.err != nil {
			return x.err
		}
		for k := range x.list {
			if err := done(chunks[i][k], x.list[k]); err != nil {
				return err
			}
		}
	}
	return context.Cause(ctx)
}
