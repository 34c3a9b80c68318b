package versioned

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"unicode/utf8"

	"blobio/comm"
	"blobio/internal/par"
)

// part is what one rank has for a version: which chunks, and where they lie in its memory.
type part struct {
	rank  int
	err   error // why the rank has none
	local []byte
	dirty []int64  // chunks, ascending
	sums  []digest // of all chunks of the segment
	buf   *[]byte  // of the rank, for chunks that are to be one after the other; its room is kept for the next version
	moved []place  // chunks of older versions that are written again, out of files that are to go
}

// VersionInfo describes a committed version.
type VersionInfo struct {
	Number     int64   `json:"number"`
	Label      string  `json:"label,omitempty"`
	Time       int64   `json:"time_ns"` // since 1970, UTC
	Generation int     `json:"generation"`
	Shape      []int64 `json:"shape"`
	Changed    int64   `json:"changed"` // bytes of the chunks that were new in it
	Written    int64   `json:"written"` // bytes of the files that it wrote
}

func (v *verInfo) info() VersionInfo {
	return VersionInfo{v.Number, v.Label, v.Time, v.Gen, slices.Clone(v.Shape), v.Changed, v.Written}
}

// Inc commits the current state as a version, step (>= 1) above the newest one. All puts before it are in
// it; none may happen during it. It is collective; all ranks pass the same step and label (UTF-8, at most 1024 bytes). When it returns an error, no
// version was added, on any rank, unless the error wraps ErrBroken.
func (a *Array) Inc(ctx context.Context, step int64, label string) (int64, error) {
	return a.inc(ctx, step, label, nil)
}

// inc is Inc of a rank that may have failed already: then there is no version, and all ranks hear of it.
func (a *Array) inc(ctx context.Context, step int64, label string, bad error) (int64, error) {
	if a.broken != nil { // on all ranks
		return 0, comm.Agree(ctx, a.c, a.broken)
	}
	if bad == nil && (step < 1 || len(label) > 1<<10 || !utf8.ValidString(label)) {
		bad = usageErr("array %s: step %d, label of %d bytes; want >= 1 and at most 1024 of UTF-8", a.spec.Name, step, len(label))
	}
	old := a.cat.record()
	number := step
	if n := len(old.Versions); bad == nil && n > 0 {
		newest := old.Versions[n-1].Number
		if newest > math.MaxInt64-step {
			bad = usageErr("array %s: version %d + %d: there is no such number", a.spec.Name, newest, step)
		}
		number += newest
	}
	if err := a.win.Fence(ctx); err != nil {
		return 0, err
	}
	if a.direct {
		return a.incDirect(ctx, number, label, bad)
	}
	together := a.protected != nil || a.copied() // there are collectives between the writing and the gathering
	if together {
		if err := comm.Agree(ctx, a.c, bad); err != nil {
			return 0, err
		}
	}
	rec := old.clone()
	rec.Seq++
	if last := rec.Generations[len(rec.Generations)-1]; last.ID != a.geo.ID {
		g := a.geo
		if rec.Order != hostOrder() {
			g.Order = hostOrder()
		}
		rec.Generations = append(rec.Generations, g)
	}
	rec.Spec.Shape = a.shape
	p := &part{rank: a.c.Rank(), err: bad}
	if bad == nil {
		p = a.changed()
	}
	v := verInfo{Number: number, Label: label, Gen: a.geo.ID, Shape: slices.Clone(a.shape)}
	if !a.memory {
		if err := a.weigh(ctx, p, &v); err != nil {
			return 0, err
		}
	}
	w, err := a.writeFile(ctx, rec, v, p)
	if bad == nil {
		bad = err
	}
	if together {
		if bad = comm.Agree(ctx, a.c, bad); bad == nil {
			bad = a.copyFile(ctx, w)
		}
		if bad == nil {
			bad = a.protect(ctx, rec, number, w)
		}
		if bad != nil {
			a.discard(w)
			return 0, bad
		}
	}
	if err := a.nextRecord(ctx, rec, v, w, bad); err != nil {
		a.discard(w)
		return 0, err
	}
	if err := a.exposeVersion(ctx, rec, number); err != nil {
		a.discard(w)
		return 0, err
	}
	if err := a.writeRecords(ctx, rec, true); err != nil {
		if a.broken == nil {
			a.discard(w)
			err = errors.Join(err, a.conceal(ctx, old))
		}
		return 0, err
	}
	a.keep(p)
	return number, a.adopt(ctx, rec)
}

// keep makes the digests of a version that is committed those of the newest one.
func (a *Array) keep(p *part) {
	a.sums, a.spare = p.sums, a.sums
	for _, k := range p.dirty {
		a.has[k] = true
	}
}

// changed finds the chunks that the newest version does not have. Chunks of zeros that never were
// anything else are not kept at all.
func (a *Array) changed() *part {
	p := &part{rank: a.c.Rank(), local: a.local, sums: a.spare, buf: &a.packed, dirty: a.dirty[:0]}
	a.spare = nil // until the version is committed: then the sums of the one before are free
	if len(p.sums) != len(a.sums) {
		p.sums = make([]digest, len(a.sums))
	}
	if a.zero == (digest{}) {
		a.zero = hashChunk(make([]byte, a.spec.Chunk))
	}
	a.hash(p.sums)
	for k, d := range p.sums {
		if a.has[k] && d == a.sums[k] && a.opt.Form == Log || !a.has[k] && d == a.zero {
			continue
		}
		p.dirty = append(p.dirty, int64(k))
	}
	a.dirty = p.dirty
	return p
}

// hash computes the digests of the own chunks, on as many cores as there are for each rank of the process.
func (a *Array) hash(sums []digest) {
	const least = 1 << 20 // bytes that are worth a goroutine
	size := a.spec.Chunk
	part := func(lo, hi int) {
		for k := lo; k < hi; k++ {
			sums[k] = hashChunk(a.local[k*size : (k+1)*size])
		}
	}
	workers := min(runtime.GOMAXPROCS(0)/max(a.node.Size(), 1), len(a.local)/least)
	if workers < 2 {
		part(0, len(sums))
		return
	}
	par.Do(workers, workers, func(w int) { part(len(sums)*w/workers, len(sums)*(w+1)/workers) })
}
