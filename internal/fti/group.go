package fti

import (
	"slices"

	"blobio/internal/base/fault"
)

// groupOf returns the group of a rank at levels 2 and 3, and the place of the rank in it. Like in FTI, a group has one rank of each
// of groupSize nodes, nodes count in the order of their first ranks, and the ranks of a group have the same place on their nodes.
// nodes holds the node names by rank.
func groupOf(nodes []string, rank, nodeSize, groupSize int) (group, place int, err error) {
	if groupSize < 2 {
		return 0, 0, fault.Usage("group_size is %d, want at least 2", groupSize)
	}
	var order []string
	ranks := map[string]int{} // number of ranks by node
	var node, onNode int
	for r, name := range nodes {
		if ranks[name] == 0 {
			order = append(order, name)
		}
		if r == rank {
			node, onNode = slices.Index(order, name), ranks[name]
		}
		ranks[name]++
	}
	for _, name := range order {
		if ranks[name] != nodeSize {
			return 0, 0, fault.Usage("node %s has %d ranks, want %d as in node_size", name, ranks[name], nodeSize)
		}
	}
	return node/groupSize*nodeSize + onNode, node % groupSize, nil
}
