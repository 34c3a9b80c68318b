package bench

import (
	"cmp"
	"math"
	"slices"
)

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

// ScaleParams are what is fitted. The first two belong to a machine, the others to the program that writes. All are of a node with its
// ranks, one subfile to a node.
type ScaleParams struct {
	Grow     float64 `json:"grow"`                   // seconds for each node: its file, its ranks; published runs do not tell which
	NodeRate float64 `json:"node_rate"`              // GiB/s that a node brings to the file system
	Rounds   float64 `json:"rounds"`                 // seconds that the variable-centric layout takes beyond that
	PieceVC  float64 `json:"piece_variable_centric"` // seconds for a put of each rank, variable-centric
	PiecePC  float64 `json:"piece_process_centric"`
}

func (p *ScaleParams) machine() []*float64 { return []*float64{&p.Grow, &p.NodeRate} }
func (p *ScaleParams) all() []*float64 {
	return append(p.machine(), &p.Rounds, &p.PieceVC, &p.PiecePC)
}

// ScalePlan says how ranks use files.
type ScalePlan struct {
	Nodes    int
	Subfiles int   // nodes are dealt to them in blocks
	Stripes  int   // servers of one file
	Bytes    int64 // of all ranks
	Pieces   int64 // of a rank
	Process  bool  // process-centric
	Growing  int   // what Grow is for: Nodes, or Subfiles
}

// Seconds is the time of one write: what grows with the machine, the puts of the ranks of a node, which work at the same time, and the data
// at the rate of what is slowest: a node, all servers, or the server that has most.
func (s *ScaleSystem) Seconds(q *ScaleParams, p ScalePlan) float64 {
	t := q.Grow*float64(p.Growing) + q.PiecePC*float64(p.Pieces)
	if !p.Process {
		t = q.Grow*float64(p.Growing) + q.PieceVC*float64(p.Pieces) + q.Rounds
	}
	bytes := float64(p.Bytes) / gib
	stripes := min(p.Stripes, s.Servers)
	most := math.Ceil(float64(p.Subfiles) * float64(stripes) / float64(s.Servers)) // parts of files of one server
	busiest := bytes / float64(p.Subfiles) / float64(stripes) * most / s.ServerRate
	return t + max(bytes/float64(p.Nodes)/q.NodeRate, busiest)
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
	Fitted    bool    `json:"fitted"` // the model was fitted to it
}

// Error is by how much the model is off: 0.5 is half as much again.
func (p *ScalePoint) Error() float64 { return p.Model/p.Published - 1 }

// Points are the published rates of a machine beside those of the model: one subfile to a node, on one server.
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
					plan := ScalePlan{Nodes: p.Nodes, Subfiles: p.Nodes, Stripes: 1, Bytes: c.Bytes, Pieces: c.Pieces, Process: process, Growing: p.Nodes}
					x.Model = float64(c.Bytes) / gib / s.Seconds(q, plan)
					out = append(out, x)
				}
			}
		}
	}
	return out
}

// scaleStart is where a fit begins.
var scaleStart = ScaleParams{Grow: 1e-3, NodeRate: 1, Rounds: 0.1, PieceVC: 3e-5, PiecePC: 1e-5}

// fit finds the parameters by which the model is nearest to the published rates that counts says: the least sum of squares of the
// logarithms of the ratios. The search takes steps that become smaller, one parameter at a time; the others stay as they are.
func (s *ScaleSystem) fit(q *ScaleParams, params []*float64, cases []scaleCase, counts func(p *ScalePoint) bool) {
	off := func() (sum float64) {
		points := s.Points(q, cases)
		for i := range points {
			if counts(&points[i]) {
				d := math.Log(points[i].Model / points[i].Published)
				sum += d * d
			}
		}
		return sum
	}
	best := off()
	for step := 0.3; step > 1e-4; {
		better := false
		for _, v := range params {
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
}

// ScaleTest is the model fitted on one machine and tried on another one, of which it knows what two runs tell.
type ScaleTest struct {
	From   string       `json:"from"`
	Params ScaleParams  `json:"params"` // of the machine where it was fitted
	Own    []ScalePoint `json:"own"`    // rates there
	To     string       `json:"to"`
	Other  ScaleParams  `json:"other"` // the same but for what the two runs tell
	Points []ScalePoint `json:"points"`
}

// calibrated says whether a run is one of the two that tell of a machine: those without many puts, process-centric.
func calibrated(p *ScalePoint) bool { return p.Layout == pcName && p.Case != "I" }

// tryScale fits on one machine and tries on the other.
func tryScale(from, to *ScaleSystem, cases []scaleCase) (t ScaleTest) {
	t = ScaleTest{From: from.Name, To: to.Name, Params: scaleStart}
	from.fit(&t.Params, t.Params.all(), cases, func(*ScalePoint) bool { return true })
	t.Own = from.Points(&t.Params, cases)
	for i := range t.Own {
		t.Own[i].Fitted = true
	}
	t.Other = t.Params
	to.fit(&t.Other, t.Other.machine(), cases, calibrated)
	t.Points = to.Points(&t.Other, cases)
	for i := range t.Points {
		t.Points[i].Fitted = calibrated(&t.Points[i])
	}
	return t
}

// studentT is the 97.5 % point of Student's distribution, by degrees of freedom from 1.
var studentT = []float64{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228}

// scaleInterval is the factor within which a published rate lies of that of the model in 19 of 20 cases, by the points that
// the model was not fitted to. These are few, and the two machines share the program: it is a rough one.
func scaleInterval(tests []ScaleTest) (factor float64, points int) {
	sum := 0.0
	for i := range tests {
		for k := range tests[i].Points {
			if p := &tests[i].Points[k]; !p.Fitted {
				d := math.Log(p.Model / p.Published)
				sum += d * d
				points++
			}
		}
	}
	t := studentT[min(points, len(studentT))-1]
	return math.Exp(t * math.Sqrt(sum/float64(points)*(1+1/float64(points)))), points
}

// worst are the least and the greatest error of the points that the model was not fitted to.
func (t *ScaleTest) Worst() (least, most float64) {
	var list []float64
	for i := range t.Points {
		if !t.Points[i].Fitted {
			list = append(list, t.Points[i].Error())
		}
	}
	slices.SortFunc(list, cmp.Compare[float64])
	return list[0], list[len(list)-1]
}
