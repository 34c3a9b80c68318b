package bench

import (
	"context"
	"slices"
	"time"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/e3smcases"
)

// openList opens the dataset, and goes through all that a listing shows.
func (k *Work) openList() (t Took, err error) {
	start := time.Now()
	r, err := blob.Open(context.Background(), k.Path, nil)
	if err != nil {
		return t, err
	}
	defer r.Close()
	if k.Phase == "list" {
		n := 0
		for _, f := range r.Files() {
			n += len(f.Name)
		}
		for _, v := range r.Schema().Vars() {
			n += len(v.Name) + len(v.Atts)
		}
		if n == 0 {
			return t, pkg.Errorf("%s is empty", k.Path)
		}
	}
	t.Seconds = time.Since(start).Seconds()
	return t, nil
}

func (k *Work) checkAll(ctx context.Context) (t Took, err error) {
	start := time.Now()
	for f := range blob.Check(ctx, k.Path, &blob.CheckOptions{Progress: k.tell}) {
		if f.Severity > blob.Note {
			return t, pkg.Errorf("a dataset that was just written: %v", f)
		}
	}
	t.Seconds = time.Since(start).Seconds()
	if t.Bytes, err = datasetBytes(ctx, k.Path); err == nil {
		err = ctx.Err()
	}
	return t, err
}

// levels reads one level of T, for which its map is read too, and then another one. The values are compared with
// what was put. Bytes are those of the level and of the map, Data those of the level.
func (k *Work) levels(ctx context.Context) (t Took, err error) {
	start := time.Now()
	r, err := blob.Open(ctx, k.Path, nil)
	if err != nil {
		return t, err
	}
	defer r.Close()
	v, ok := r.Schema().VarID(levelVar)
	if !ok {
		return t, pkg.Errorf("%s has no %s", k.Path, levelVar)
	}
	shape := r.Schema().Shape(v)
	dst := make([]float32, shape[1])
	level := func(n int64) (float64, error) {
		if err := r.Read(ctx, levelVar, []int64{0, n, 0}, []int64{1, 1, shape[1]}, dst); err != nil {
			return 0, err
		}
		s := time.Since(start).Seconds()
		return s, sameLevel(dst, k.Path, n)
	}
	if t.Seconds, err = level(shape[0] / 2); err != nil {
		return t, err
	}
	start = time.Now()
	next, err := level(0)
	if err != nil {
		return t, err
	}
	t.Phases = map[string]float64{"next": next}
	m, err := r.Map(ctx, r.Schema().Vars()[v].Decomp)
	if err != nil {
		return t, err
	}
	for rank := range m.Ranks() {
		t.Bytes += 8 * m.NumReqs(rank)
	}
	t.Data = 4 * shape[1]
	t.Bytes += t.Data
	return t, nil
}

// convertSome converts variables to a canonical file: T, and others of its map and of D2 in turn.
func (k *Work) convertSome(ctx context.Context) (t Took, err error) {
	start := time.Now()
	r, err := blob.Open(ctx, k.Path, nil)
	if err != nil {
		return t, err
	}
	defer r.Close()
	names := []string{"T"}
	deep, flat := []string{}, []string{}
	for _, v := range r.Schema().Vars() {
		switch {
		case v.Name == "T" || !v.Record:
		case v.Decomp == 3:
			deep = append(deep, v.Name)
		case v.Decomp == 2:
			flat = append(flat, v.Name)
		}
	}
	for len(names) < k.Convert && len(deep)+len(flat) > 0 {
		from := &flat
		if len(names)%2 == 0 && len(deep) > 0 || len(flat) == 0 {
			from = &deep
		}
		names, *from = append(names, (*from)[0]), (*from)[1:]
	}
	o := &blob.ConvertOptions{Vars: names, Force: true, Progress: k.tell}
	if !k.Job.Sync {
		o.Durability = blob.DurableNone
	}
	if err := blob.Convert(ctx, r, k.To, o); err != nil {
		return t, err
	}
	t.Seconds = time.Since(start).Seconds()
	t.Bytes, err = fileBytes(k.To)
	return t, err
}

// sameLevels compares what is in an ordinary file with what was put: all variables of the maps that are floats.
func sameLevels(ctx context.Context, name string) error {
	r, err := blob.Open(ctx, name, nil)
	if err != nil {
		return err
	}
	defer r.Close()
	if _, ok := r.Schema().VarID("T"); !ok {
		return pkg.Errorf("%s has no T", name)
	}
	for id, v := range r.Schema().Vars() {
		if v.Type != cdf5.Float || !v.Record {
			continue
		}
		if err := sameLevelsOf(ctx, r, name, v.Name, r.Schema().Shape(blob.VarID(id))); err != nil {
			return err
		}
	}
	return nil
}

// sameLevelsOf compares one variable (lev x ncol, or ncol) of one record, level by level.
func sameLevelsOf(ctx context.Context, r *blob.Reader, file, name string, shape []int64) error {
	n := shape[len(shape)-1]
	start, count := make([]int64, 1+len(shape)), append([]int64{1}, shape...)
	levels := int64(1)
	if len(shape) > 1 {
		levels, count[1] = shape[0], 1
	}
	got, want := make([]float32, n), make([]float32, n)
	for k := range levels {
		if len(shape) > 1 {
			start[1] = k
		}
		if err := r.Read(ctx, name, start, count, got); err != nil {
			return err
		}
		if err := e3smcases.FillUnique(want, cdf5.Float, name, 0, e3smcases.Range(k*n, n)); err != nil {
			return err
		}
		if !slices.Equal(got, want) {
			return pkg.Errorf("level %d of %s in %s is not what was written", k, name, file)
		}
	}
	return nil
}
