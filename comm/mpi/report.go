//go:build mpi && cgo

package mpi

// report is the state of a rank.
type report struct {
	Told  bool // the rank has sent a notice to all ranks
	Lost  bool // none of the rank's objects may be freed
	Links []linkReport
}

type linkReport struct {
	ID             string
	Size           int
	Begun          int64
	Header         bool // the last collective begun here is a header, and other ranks may not have begun it
	Lost           bool
	Sent, Received int64
	Windows        [2]int // numbers of windows: made by callers, and for shared memory
}

func (e *Engine) report() report {
	r := report{Told: e.notified, Lost: e.mpiFailed}
	for _, l := range e.links {
		x := linkReport{ID: l.tidy.id, Size: l.size, Begun: l.tidy.begun, Header: len(l.tidy.left) > 0, Lost: l.tidy.lost,
			Sent: l.tidy.sent, Received: l.tidy.received, Windows: [2]int{len(l.tidy.windows), len(l.shared.windows)}}
		for _, q := range l.tidy.left {
			x.Header = x.Header && q.what == aHeader
		}
		for _, s := range e.sends {
			x.Lost = x.Lost || s.l == l
		}
		r.Links = append(r.Links, x)
	}
	return r
}

// plan combines the reports of all ranks about a link.
type plan struct {
	ranks          int
	begun, low     int64 // maximum and minimum over the ranks of the number of collectives begun
	header         bool  // Header is true on all ranks with the maximum
	lost           bool
	sent, received int64
	first          linkReport
}

func plans(all []report) map[string]*plan {
	m := map[string]*plan{}
	for _, r := range all {
		for _, x := range r.Links {
			p := m[x.ID]
			if p == nil {
				p = &plan{begun: x.Begun, low: x.Begun, header: x.Header, first: x}
				m[x.ID] = p
			}
			switch {
			case x.Begun > p.begun:
				p.begun, p.header = x.Begun, x.Header
			case x.Begun == p.begun:
				p.header = p.header && x.Header
			}
			p.low = min(p.low, x.Begun)
			p.ranks++
			p.sent, p.received = p.sent+x.Sent, p.received+x.Received
			p.lost = p.lost || x.Lost || r.Lost || x.Windows != p.first.Windows
		}
	}
	return m
}

// possible reports whether the link can be made quiet.
func (p *plan) possible() bool {
	return !p.lost && p.ranks == p.first.Size && p.sent == p.received &&
		(p.begun == p.low || p.begun == p.low+1 && p.header)
}
