package redset

import (
	"context"
	"fmt"
	"path/filepath"

	"blobio/comm"
	"blobio/internal/base/fault"
	"blobio/scr/kvtree"
)

// Options are the options of New. The zero value of a field means its default.
type Options struct {
	Scheme     Scheme
	Group      string // failure group of this rank; with "" (default) the rank has a failure group of its own
	SetSize    int    // minimum number of members of a set if there are enough failure groups, default 8
	Replicas   int    // for Partner: number of copies, default 1
	K          int    // for RS: number of losses that a set survives, default 2
	Generation Generation

	// Downgrade makes all ranks use Single if a set has too few members for the scheme. SCR does this silently. Set.Downgraded
	// reports it. Without Downgrade the error is a *GroupsError.
	Downgrade bool
	// NoSums makes Encode write no checksums, as SCR does. With Single, Encode then reads no data. Damage is found only as in sets
	// of SCR; see Report.Verified.
	NoSums bool
	// Root is the directory that relative file names refer to, by default the working directory. Headers contain the names as
	// the caller gave them.
	Root string

	// Used only for generations A and B. Dataset is the dataset record. FileMeta, if it is not nil, returns the record of a
	// file; otherwise the record contains SIZE and the required keys.
	Dataset  *kvtree.Tree
	FileMeta func(name string) *kvtree.Tree
}

// Validate returns an error that wraps ErrUsage if a field is out of range.
func (o *Options) Validate() error {
	switch {
	case o.Scheme >= numSchemes:
		return fault.Usage("Scheme is %d", o.Scheme)
	case o.Generation >= numGenerations:
		return fault.Usage("Generation is %d", o.Generation)
	case o.SetSize < 0 || o.SetSize > maxMembers/2:
		return fault.Usage("SetSize is %d", o.SetSize)
	case o.Replicas < 0 || o.Replicas > maxMembers:
		return fault.Usage("Replicas is %d", o.Replicas)
	case o.K < 0 || o.K > 254:
		return fault.Usage("K is %d, want at most 254", o.K)
	case o.Generation != GenC && o.Scheme != XOR:
		return fmt.Errorf("redundancy files of generation %v support only XOR, not %v (%w)", o.Generation, o.Scheme, fault.ErrUnsupported)
	}
	return nil
}

// Set holds one rank's membership in the sets of a Comm. It is not safe for concurrent use.
type Set struct {
	world comm.Comm
	sc    comm.Comm // Comm of the set
	o     Options
	p     position
	ranks []int // world ranks of the members
	down  bool
	sums  map[string]uint32
}

// New is a collective that forms the sets of the ranks of c (see Form). All ranks must pass the same options, except Group and
// Root. If there are too few failure groups, all ranks get a *GroupsError.
func New(ctx context.Context, c comm.Comm, o Options) (*Set, error) {
	if o.SetSize == 0 {
		o.SetSize = 8
	}
	if o.Replicas == 0 {
		o.Replicas = 1
	}
	if o.K == 0 {
		o.K = 2
	}
	if err := comm.Agree(ctx, c, o.Validate()); err != nil {
		return nil, err
	}
	names, err := c.Allgather(ctx, []byte(o.Group))
	if err != nil {
		return nil, err
	}
	groups := make([]string, len(names))
	for i, b := range names {
		groups[i] = string(b)
	}
	s := &Set{world: c, o: o}
	k := map[Scheme]int{Single: 0, Partner: o.Replicas, XOR: 1, RS: o.K}[o.Scheme]
	places := Form(o.Scheme, groups, o.SetSize)
	for r, p := range places { // all ranks get the same result
		if o.Scheme == Single {
			break
		}
		n := len(p.Ranks)
		if o.Scheme == RS && n+k > 256 {
			return nil, fault.Usage("RS sets have %d members and K is %d, want a sum of at most 256", n, k)
		}
		if n > maxMembers {
			return nil, fault.Usage("a set of %d members, want at most %d", n, maxMembers)
		}
		if n > k {
			continue
		}
		if !o.Downgrade {
			return nil, &GroupsError{Scheme: o.Scheme, Rank: r, Have: n, Need: k + 1}
		}
		s.down, s.o.Scheme, s.o.Generation, k = true, Single, GenC, 0
		places = Form(Single, groups, 1)
		break
	}
	p := places[c.Rank()]
	s.ranks = p.Ranks
	s.p = position{gen: s.o.Generation, scheme: s.o.Scheme, k: k, set: p.Set, sets: p.Sets, rank: p.Rank, n: len(p.Ranks), world: c.Rank(), worlds: c.Size()}
	if s.sc, err = c.Split(ctx, p.Set, p.Rank); err != nil {
		return nil, err
	}
	if s.p.gen != GenC {
		s.p.set, s.p.sets = p.Ranks[0], 0
	}
	return s, nil
}

// Scheme returns the scheme in use. It is the scheme in the options, or Single after a downgrade.
func (s *Set) Scheme() Scheme { return s.p.scheme }

// Downgraded reports whether Single is used because there are too few failure groups; see Options.Downgrade.
func (s *Set) Downgraded() bool { return s.down }

// Place returns the position of this rank.
func (s *Set) Place() Place {
	return Place{Set: s.p.set, Sets: s.p.sets, Rank: s.p.rank, Ranks: append([]int(nil), s.ranks...)}
}

// Sums returns the CRC-32 (IEEE) of each file of this rank, by name, as the last Encode computed it.
func (s *Set) Sums() map[string]uint32 { return s.sums }

// Names returns the names of the redundancy files that Encode writes for this rank.
func (s *Set) Names(prefix string) []string { return s.p.names(prefix) }

// resolve converts a name in a header to a path in the file system.
func resolve(root, name string) string {
	if root == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(root, name)
}
