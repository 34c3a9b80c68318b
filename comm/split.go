package comm

import (
	"cmp"
	"context"
	"slices"
)

// splitKey has the arguments that a rank passed to Split.
type splitKey struct{ color, key, rank int }

func (m *member) Split(ctx context.Context, color, key int) (Comm, error) {
	return m.split(ctx, kSplit, max(color, -1), key)
}

func (m *member) SplitNode(ctx context.Context) (Comm, error) {
	return m.split(ctx, kSplitNode, m.g.w.opts.node(m.world, m.g.w.n), 0)
}

func (m *member) split(ctx context.Context, k kind, color, key int) (Comm, error) {
	r, err := m.enter(ctx, signature{kind: k}, func(r *round) {
		if r.keys == nil {
			r.keys = make([]splitKey, m.g.n)
		}
		r.keys[m.rank] = splitKey{color, key, m.rank}
	}, m.g.divide)
	if err != nil {
		return nil, err
	}
	if sub := &r.subs[m.rank]; sub.g != nil {
		return sub, nil
	}
	return nil, nil
}

func (g *group) divide(r *round) {
	slices.SortFunc(r.keys, func(a, b splitKey) int {
		return cmp.Or(cmp.Compare(a.color, b.color), cmp.Compare(a.key, b.key), cmp.Compare(a.rank, b.rank))
	})
	r.subs = make([]member, g.n)
	members := make([]int32, g.n)
	for i := 0; i < g.n; {
		color := r.keys[i].color
		end := i
		for end < g.n && r.keys[end].color == color {
			end++
		}
		if color >= 0 {
			sub := &group{w: g.w, n: end - i, members: members[i:end:end]}
			for j := i; j < end; j++ {
				old := r.keys[j].rank
				members[j] = int32(g.worldRank(old))
				r.subs[old] = member{g: sub, rank: j - i, world: g.worldRank(old)}
			}
		}
		i = end
	}
	r.keys = nil
}
