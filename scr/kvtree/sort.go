package kvtree

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Sort sorts the elements of this node bytewise by key. Elements that are set later come before the sorted ones.
func (t *Tree) Sort(descending bool) {
	sortNode(t, descending, func(a, b elem) int { return strings.Compare(a.key, b.key) })
}

// SortInt sorts the elements of this node by the numbers that the keys begin with. A key that does not begin with a number is
// sorted as 0.
func (t *Tree) SortInt(descending bool) {
	sortNode(t, descending, func(a, b elem) int { return cmp.Compare(atoi(a.key), atoi(b.key)) })
}

// SortAll sorts all nodes in ascending order, so that equal trees have equal bytes. Headers of redundancy files are sorted in
// this way.
func (t *Tree) SortAll() {
	t.Sort(false)
	for _, sub := range t.All() {
		sub.SortAll()
	}
}

func sortNode(t *Tree, descending bool, compare func(a, b elem) int) {
	if t.Len() < 2 {
		return
	}
	elems := make([]elem, 0, t.Len())
	for key, sub := range t.All() {
		elems = append(elems, elem{key, sub})
	}
	slices.SortStableFunc(elems, func(a, b elem) int {
		if descending {
			return compare(b, a)
		}
		return compare(a, b)
	})
	slices.Reverse(elems)
	t.elems, t.dead = elems, 0
	t.reindex()
}

// Ints returns the keys as decimal numbers, ascending. If a key is not a number, the error is a *valueError.
func (t *Tree) Ints() ([]int, error) {
	ns := make([]int, 0, t.Len())
	for key := range t.All() {
		n, err := strconv.Atoi(strings.TrimLeft(key, space))
		if err != nil {
			return nil, numberError(key, "", err)
		}
		ns = append(ns, n)
	}
	slices.Sort(ns)
	return ns, nil
}

// atoi is like C's atoi, but returns the largest or smallest int64 for numbers out of range.
func atoi(s string) int64 {
	s = strings.TrimLeft(s, space)
	end := 0
	for end < len(s) && (s[end]-'0' < 10 || end == 0 && (s[0] == '-' || s[0] == '+')) {
		end++
	}
	n, _ := strconv.ParseInt(s[:end], 10, 64)
	return n
}
