package bench

import (
	"container/heap"
	"math"

	"blobio/blob"
	"blobio/e3smcases"
)

const gib = 1 << 30

// scaleCase is a case at production size: what the model needs of it.
type scaleCase struct {
	Name    string
	Ranks   int
	Records int64
	Bytes   int64 // of all ranks, float record variables for F and I
	Pieces  int64 // puts of a rank: variables of all records

	sizes []int64 // mean bytes of each of these, of one record
}

// How blobio writes where ranks share no heap and nodes have shared memory: see "Ranks without a common heap" in
// docs/architecture.md.
const (
	ownLeast   = 4 << 10   // mean bytes from which on each rank writes its own pieces, or process-centric its blob
	ownWrite   = 256 << 10 // most of one write of those
	windowSize = 1 << 20   // of what aggregators write
)

// Writes is how many writes of data a subfile to a node of perNode ranks takes, one record.
func (c *scaleCase) Writes(perNode int, l blob.Layout) (n int64) {
	small, blobBytes := int64(0), int64(0)
	up := func(n, size int64) int64 { return (n + size - 1) / size }
	for _, s := range c.sizes {
		blobBytes += s
		if s < ownLeast {
			small += s
		} else if l == blob.VariableCentric {
			n += int64(perNode) * up(s, ownWrite) // pieces of a rank do not lie together
		}
	}
	if l == blob.VariableCentric {
		return n + up(small*int64(perNode), windowSize)
	}
	if blobBytes < ownLeast {
		return up(blobBytes*int64(perNode), windowSize)
	}
	return int64(perNode) * up(blobBytes, ownWrite)
}

// scaleCases are the cases of the published table. Elements of the decomposed dimensions by map are those of the
// grids in production: ne120 with 72 levels; an ocean of 3,693,225 cells, 11,135,652 edges and
// 7,441,216 vertices with 80 levels; a land of half a degree, of which 62,482 cells are land, with 240 records.
func scaleCases() ([]scaleCase, error) {
	const cols, cells, edges, vertices, land = 777602, 3693225, 11135652, 7441216, 62482
	var out []scaleCase
	for _, s := range []struct {
		name, history string
		ranks         int
		records       int64
		float         bool
		maps          []int64
	}{
		{"F", "F_h0", 21600, 1, true, []int64{cols, cols, 72 * cols}},
		{"G", "G", 9600, 1, false, []int64{cells, edges, 80 * cells, 80 * edges, 80 * vertices, 81 * cells}},
		{"I", "I_h0", 1344, 240, true, []int64{land, 15 * land, 10 * land, 9 * land, 17 * land}},
	} {
		c, err := e3smcases.Load(s.history)
		if err != nil {
			return nil, err
		}
		if len(c.MapDims) != len(s.maps) {
			return nil, pkg.Errorf("case %s has %d maps, want %d", s.history, len(c.MapDims), len(s.maps))
		}
		x := scaleCase{Name: s.name, Ranks: s.ranks, Records: s.records}
		for v := range c.Vars {
			cv := &c.Vars[v]
			if cv.Map == 0 {
				continue
			}
			n := int64(1)
			if cv.Record {
				n = s.records
			}
			t, _ := cv.FileType(s.float)
			x.Pieces += n
			x.Bytes += n * s.maps[cv.Map-1] * int64(t.Size())
			x.sizes = append(x.sizes, s.maps[cv.Map-1]*int64(t.Size())/int64(s.ranks))
		}
		out = append(out, x)
	}
	return out, nil
}

// Published is a rate of E3SM-IO's blob layouts on a machine, in GiB/s: PnetCDF is variable-centric, HDF5 process-centric.
type Published struct {
	Case          string
	Nodes         int
	PnetCDF, HDF5 float64
}

// ScaleSystem is a machine with a parallel file system.
type ScaleSystem struct {
	Name         string
	RanksPerNode int
	Servers      int     // that hold data
	ServerRate   float64 // GiB/s of one
	Published    []Published
}

// cori and summit are the machines of the published table. Number and rate of servers are what their
// centers say of the file systems (248 OSTs and 744 GB/s; 154 servers and 2.5 TB/s), and are not fitted.
func cori() *ScaleSystem {
	return &ScaleSystem{"Cori", 64, 248, 744e9 / gib / 248, []Published{{"F", 338, 24.5, 36.8}, {"G", 150, 74.1, 92.0}, {"I", 21, 7.4, 14.7}}}
}

func summit() *ScaleSystem {
	return &ScaleSystem{"Summit", 84, 154, 2500e9 / gib / 154, []Published{{"F", 258, 17.8, 19.4}, {"G", 115, 133.3, 160.0}, {"I", 16, 10.9, 30.8}}}
}

// ScaleParams are what is fitted. All are of a node with its ranks, one subfile to a node.
type ScaleParams struct {
	Open     float64 `json:"open"`                   // seconds to create, write the header and close
	Rounds   float64 `json:"rounds"`                 // seconds that the variable-centric layout takes beyond that
	NodeRate float64 `json:"node_rate"`              // GiB/s that a node brings to the file system
	PieceVC  float64 `json:"piece_variable_centric"` // seconds for a put of each rank, variable-centric
	PiecePC  float64 `json:"piece_process_centric"`
}

func (p *ScaleParams) all() []*float64 {
	return []*float64{&p.Open, &p.Rounds, &p.NodeRate, &p.PieceVC, &p.PiecePC}
}

// ScalePlan says how ranks use files.
type ScalePlan struct {
	Nodes, RanksPerNode int
	Subfiles            int   // nodes are dealt to them in blocks
	Aggregators         int   // on each node
	Bytes               int64 // of all ranks
	Pieces              int64 // of a rank
	Process             bool  // process-centric
	Window              int64 // bytes of one write of an aggregator
	Stripes             int   // servers of one file
	Dealt               bool  // units are dealt to aggregators as to servers (blob.Options.Stripe)
	Across              bool  // windows do not begin where units do: half of each goes to the next server

	Stream float64 // GiB/s of one aggregator; 0: as fast as the node
	Lock   float64 // seconds for a lock of a server's part of a file to go to another node
	Make   float64 // seconds of the metadata server for each file
}

// Simulate is the time of one write in seconds. Nodes fill windows and write them; servers take what
// comes, one request after the other. A node's ranks prepare their pieces first, evenly over the windows.
// A server's part of a file has one lock, which the node that writes must hold.
func (s *ScaleSystem) Simulate(q *ScaleParams, p ScalePlan) float64 {
	piece, begin := q.PieceVC, q.Open+q.Rounds
	if p.Process {
		piece, begin = q.PiecePC, q.Open
	}
	begin += p.Make * float64(p.Subfiles)
	perNode := float64(p.Bytes) / float64(p.Nodes)
	windows := max(1, int64(math.Ceil(perNode/float64(p.Window)/float64(p.Aggregators))))
	size := perNode / float64(p.Aggregators) / float64(windows) // of a write
	prepare := piece * float64(p.Pieces) / float64(windows)     // the ranks of a node work at the same time
	stream := q.NodeRate / float64(p.Aggregators)
	if p.Stream > 0 {
		stream = min(stream, p.Stream)
	}
	move := size / gib / stream
	serve := size / gib / s.ServerRate

	clients := make(clientHeap, 0, p.Nodes*p.Aggregators)
	for n := range p.Nodes {
		for a := range p.Aggregators {
			clients = append(clients, client{at: begin + prepare + move, node: n, agg: a})
		}
	}
	heap.Init(&clients)
	free := make([]float64, s.Servers)
	holder := map[[2]int]int{} // of a server's part of a file: a node, from 1
	perFile := (p.Nodes + p.Subfiles - 1) / p.Subfiles
	end := begin
	for len(clients) > 0 {
		c := &clients[0]
		file := c.node / perFile
		team := perFile * p.Aggregators // aggregators of a file
		slot := c.node%perFile*p.Aggregators + c.agg
		unit := int64(slot) + c.done*int64(team) // windows in turn
		stripes := min(p.Stripes, s.Servers)
		if p.Dealt && team >= stripes {
			unit = int64(slot % stripes) // always the same server
		}
		server := (file*p.Stripes + int(unit%int64(stripes))) % s.Servers
		write := func(server int, serve float64) float64 {
			start := max(c.at, free[server])
			if key := [2]int{file, server}; holder[key] != c.node+1 {
				if holder[key] != 0 {
					start += p.Lock
				}
				holder[key] = c.node + 1
			}
			free[server] = start + serve
			return free[server]
		}
		var done float64
		if p.Across {
			next := (file*p.Stripes + int((unit+1)%int64(stripes))) % s.Servers
			done = max(write(server, serve/2), write(next, serve/2))
		} else {
			done = write(server, serve)
		}
		end = max(end, done)
		if c.done++; c.done == windows {
			heap.Pop(&clients)
			continue
		}
		// The next window was filled while this one was written, if that took longer.
		c.at = max(done, c.at+prepare+move)
		heap.Fix(&clients, 0)
	}
	return end
}

// client is an aggregator that has a window ready at a time.
type client struct {
	at        float64
	node, agg int
	done      int64 // windows
}

type clientHeap []client

func (h clientHeap) Len() int { return len(h) }
func (h clientHeap) Less(i, j int) bool {
	if h[i].at != h[j].at {
		return h[i].at < h[j].at
	}
	return h[i].node*1024+h[i].agg < h[j].node*1024+h[j].agg
}
func (h clientHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *clientHeap) Push(x any)   { *h = append(*h, x.(client)) }
func (h *clientHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

// published is the plan of a run of the published table: one subfile to a node, on one server.
func (s *ScaleSystem) published(c *scaleCase, p *Published, process bool) ScalePlan {
	return ScalePlan{Nodes: p.Nodes, RanksPerNode: s.RanksPerNode, Subfiles: p.Nodes, Aggregators: 1, Bytes: c.Bytes, Pieces: c.Pieces,
		Process: process, Window: scaleWindow, Stripes: 1}
}

// ScalePoint is a published rate and that of the model, in GiB/s.
type ScalePoint struct {
	System    string  `json:"system"`
	Case      string  `json:"case"`
	Layout    string  `json:"layout"`
	Nodes     int     `json:"nodes"`
	Bytes     int64   `json:"bytes"`
	Published float64 `json:"published"`
	Model     float64 `json:"model"`
}

// Error is by how much the model is off: 0.5 is half as much again.
func (p *ScalePoint) Error() float64 { return p.Model/p.Published - 1 }

// Points are the published rates of a machine beside those of the model.
func (s *ScaleSystem) Points(q *ScaleParams, cases []scaleCase) (out []ScalePoint) {
	for i := range s.Published {
		p := &s.Published[i]
		for k := range cases {
			if c := &cases[k]; c.Name == p.Case {
				for _, process := range []bool{false, true} {
					x := ScalePoint{System: s.Name, Case: p.Case, Layout: vcName, Nodes: p.Nodes, Bytes: c.Bytes, Published: p.PnetCDF}
					if process {
						x.Layout, x.Published = pcName, p.HDF5
					}
					x.Model = float64(c.Bytes) / gib / s.Simulate(q, s.published(c, p, process))
					out = append(out, x)
				}
			}
		}
	}
	return out
}

// fitScale finds the parameters by which the model is nearest to the published rates of a machine: the least sum of
// squares of the logarithms of the ratios. The search takes steps that become smaller, one
// parameter at a time, from the same start.
func fitScale(s *ScaleSystem, cases []scaleCase) ScaleParams {
	q := ScaleParams{Open: 0.3, Rounds: 0.1, NodeRate: 1, PieceVC: 3e-5, PiecePC: 1e-5}
	off := func() (sum float64) {
		for _, p := range s.Points(&q, cases) {
			d := math.Log(p.Model / p.Published)
			sum += d * d
		}
		return sum
	}
	best := off()
	for step := 0.3; step > 1e-4; {
		better := false
		for _, v := range q.all() {
			old := *v
			for _, f := range []float64{1 + step, 1 / (1 + step)} {
				*v = old * f
				if x := off(); x < best-1e-12 {
					best, better, old = x, true, *v
				}
			}
			*v = old
		}
		if !better {
			step /= 2
		}
	}
	return q
}
