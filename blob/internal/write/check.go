package write

import (
	"blobio/blob/internal/dataset"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/base/fault"
	"blobio/internal/subfile"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"unicode/utf8"
)

func checkCreate(name string, s *dataset.Schema, parts []Part, o *dataset.Options) ([][]decomp.Req, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if err := o.Compress.Fits(o.Layout); err != nil {
		return nil, err
	}
	if name == "" {
		return nil, fault.Usage("empty name")
	}
	if err := CheckNew(name); err != nil {
		return nil, err
	}
	if s == nil {
		return nil, fault.Usage("no schema")
	}
	if s.Err != nil {
		return nil, s.Err
	}
	if o.Layout.Traits().ByRank {
		if err := s.CanSum(o.Records); err != nil {
			return nil, err
		}
	}
	return CheckOwn(s, parts, o.WideMaps, o.Repeats)
}

// CheckOwn is checkParts for parts of a rank that puts: what it would put of an element twice is, unless asked for, a mistake.
func CheckOwn(s *dataset.Schema, parts []Part, wide, repeats bool) ([][]decomp.Req, error) {
	runs, err := CheckParts(s, parts, wide)
	if err != nil || repeats {
		return runs, err
	}
	for d, own := range runs {
		if len(own) < 2 {
			continue
		}
		dims := s.DecompDims(dataset.DecompID(d + 1))
		if r := decomp.RepeatsOf(own, dims[len(dims)-1]); r.Again > 0 {
			return nil, fault.Usage("decomposition D%d: this rank holds %d elements again that it has already, the first is element %d; want each once, or Options.Repeats", d+1, r.Again, r.Off)
		}
	}
	return runs, nil
}

// CheckName refuses names that the manifest, which is JSON, could not hold.
func CheckName(base string) error {
	if n := filepath.Base(base); !utf8.ValidString(n) {
		return fault.Usage("name %q: it is no valid UTF-8, as which the manifest has it", n)
	}
	return nil
}

// CheckNew refuses names that a new dataset must not have: its subfiles would be those of an appended set of another.
func CheckNew(base string) error {
	if of := filepath.Base(subfile.Base(subfile.Name(base, 0))); of != filepath.Base(base) {
		return fault.Usage("name %q: it is that of a set appended to a dataset %s", filepath.Base(base), of)
	}
	return CheckName(base)
}

// CheckParts sorts the parts by decomposition and checks the ranges that the
// format sets; that requests lie in the array is checked by decomp.
func CheckParts(s *dataset.Schema, parts []Part, wide bool) ([][]decomp.Req, error) {
	runs := make([][]decomp.Req, len(s.Decomps))
	seen := make([]bool, len(s.Decomps))
	for _, p := range parts {
		d := int(p.Decomp) - 1
		if d < 0 || d >= len(runs) {
			return nil, fault.Usage("part of decomposition D%d, want D1..D%d", p.Decomp, len(runs))
		}
		if seen[d] {
			return nil, fault.Usage("two parts of decomposition D%d", p.Decomp)
		}
		seen[d], runs[d] = true, p.Runs
		if len(p.Runs) > math.MaxInt32 {
			return nil, fault.Usage("decomposition D%d: %d requests of one rank, want at most 2^31-1", p.Decomp, len(p.Runs))
		}
		for k, r := range p.Runs {
			if r.Length > math.MaxInt32 {
				return nil, fmt.Errorf("decomposition D%d: request %d has length %d, want at most 2^31-1: %w", p.Decomp, k, r.Length, dataset.ErrRange)
			}
			if r.Offset > math.MaxInt32 && !wide {
				return nil, fmt.Errorf("decomposition D%d: request %d begins at element %d, but offsets are int in this format: want at most 2^31-1, or Options.WideMaps: %w", p.Decomp, k, r.Offset, dataset.ErrRange)
			}
		}
	}
	return runs, nil
}

// sameOnAll agrees on err, and checks that all ranks pass the same schema, name and
// options. Ranks of one process that share the schema only compare the pointer.
func sameOnAll(ctx context.Context, c comm.Comm, s *dataset.Schema, name string, o *dataset.Options, err error) error {
	lead, first := c.Rank(), s
	if !comm.Apart(c) {
		vals, err := c.Share(ctx, s)
		if err != nil {
			return err
		}
		lead = dataset.Leader(vals)
		first = vals[lead].(*dataset.Schema)
	}
	// A rank that shares its schema with another has no say: it gives the neutral values.
	sum, not := int64(math.MaxInt64), int64(math.MaxInt64)
	if err == nil && (lead == c.Rank() || first != s) {
		sum = s.Digest()
		not = ^sum
	}
	opts := o.Hash(name)
	mins, err := comm.AgreeMin(ctx, c, err, sum, not, opts, ^opts)
	switch {
	case err != nil:
		return err
	case mins[0] != ^mins[1] && mins[0] != math.MaxInt64:
		return fault.Usage("the ranks pass different schemas")
	case mins[2] != ^mins[3]:
		return fault.Usage("the ranks pass different names or options")
	}
	return nil
}
