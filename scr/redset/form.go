package redset

// Place is the position of a rank: its set and its number in the set.
type Place struct {
	Set   int   // number of the set, from 0; sets are ordered by the world rank of member 0
	Sets  int   // number of sets
	Rank  int   // number of the rank in the set, from 0
	Ranks []int // world ranks of the members of the set, ascending; the slice is shared and must not be changed
}

// Form divides ranks into sets in which no two members share a failure group. groups holds the failure group of each rank; a rank
// with group "" has a failure group of its own. minSize is the minimum number of members of a set. If the ranks cannot be divided
// evenly, sets are larger. If there are fewer failure groups than minSize, sets are smaller.
//
// The rule is the same as in SCR. Ranks with the same number l in their failure groups form column l, and each column is divided
// into sets (see cut). With Single, each rank is a set.
func Form(scheme Scheme, groups []string, minSize int) []Place {
	columns := make([][]int, 0, 1)
	if scheme == Single {
		columns = make([][]int, len(groups))
		for r := range groups {
			columns[r] = []int{r}
		}
	} else {
		count := map[string]int{}
		for r, g := range groups {
			l := 0
			if g != "" {
				l = count[g]
				count[g]++
			}
			if l == len(columns) {
				columns = append(columns, nil)
			}
			columns[l] = append(columns[l], r)
		}
	}
	places := make([]Place, len(groups))
	first := make([]bool, len(groups)) // true for a rank that is member 0 of its set, by world rank
	for _, col := range columns {
		for _, ranks := range cut(col, minSize) {
			first[ranks[0]] = true
			for i, r := range ranks {
				places[r] = Place{Rank: i, Ranks: ranks}
			}
		}
	}
	number := make([]int, len(groups))
	sets := 0
	for r, f := range first {
		if f {
			number[r] = sets
			sets++
		}
	}
	for r := range places {
		places[r].Set, places[r].Sets = number[places[r].Ranks[0]], sets
	}
	return places
}

// cut divides a column into sets of at least m ranks. The set size s is m plus an even share of the remainder; the first n mod s
// sets get one rank more.
func cut(col []int, m int) [][]int {
	n := len(col)
	m = max(m, 1)
	size := n
	if g := n / m; g > 0 {
		size = m + (n-g*m)/g
	}
	rem := n % size
	var sets [][]int
	for at := 0; at < n; {
		k := size
		if len(sets) < rem {
			k++
		}
		k = min(k, n-at)
		sets = append(sets, col[at:at+k:at+k])
		at += k
	}
	return sets
}
