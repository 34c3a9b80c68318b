package recovery_test

import (
	"context"
	"errors"
	"fmt"

	"blobio/comm"
	"blobio/versioned"
	"blobio/versioned/recovery"
)

// decay is a solver with one level and one box, whose value is halved in each step. One step fails.
type decay struct {
	boxes     []versioned.BoxInfo
	now, next []float64
	failed    bool
	lost      bool // all ranks have seen the failure
}

var decaySpec = versioned.HierarchySpec{Name: "decay", Dim: 1, Comps: []string{"x"}, Dx: 1,
	Subcycling: versioned.Subcycling{Levels: 1, Ratio: 2}, Config: versioned.Config{Cadence: versioned.Cadence{2}}}

func (d *decay) Start(context.Context) error {
	d.boxes, d.now = []versioned.BoxInfo{{}}, []float64{64}
	return nil
}
func (d *decay) Regrid(context.Context, int64) ([]int, error) { return nil, nil }
func (d *decay) Step(_ context.Context, at recovery.Moment) (*recovery.Event, error) {
	if at.Coarse == 3 && !d.failed {
		d.failed, d.now[0] = true, -1
		if d.lost {
			return &recovery.Event{Kind: "permanent", Ranks: []int{0}}, nil
		}
		return nil, errors.New("the memory of this rank cannot be trusted")
	}
	d.next = []float64{d.now[0] / 2}
	return nil, nil
}
func (d *decay) Accept(context.Context, recovery.Moment) error  { d.now = d.next; return nil }
func (d *decay) Average(context.Context, recovery.Moment) error { return nil }
func (d *decay) Boxes(int) []versioned.BoxInfo                  { return d.boxes }
func (d *decay) Data(int) map[int][]float64                     { return map[int][]float64{0: d.now} }
func (d *decay) Set(_ context.Context, _ int, boxes []versioned.BoxInfo, data map[int][]float64) error {
	d.boxes, d.now = boxes, data[0]
	return nil
}

// A step fails. The run goes back to the version before and ends with the same result as without the failure.
func Example_run() {
	err := comm.Run(context.Background(), 1, nil, func(ctx context.Context, c comm.Comm) error {
		d := &decay{}
		r, err := recovery.Open(ctx, c, nil, decaySpec, d, nil)
		if err != nil {
			return err
		}
		if err := r.Go(ctx, 5); err != nil {
			return err
		}
		fmt.Println(d.now[0], r.Stats.Recoveries[0].Event.Kind, r.Stats.Again)
		return r.Close(ctx)
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: 2 temporary 2
}
