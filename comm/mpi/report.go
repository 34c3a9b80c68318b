//go:build mpi && cgo

package mpi

// report is the state of a rank.
type report struct {
	Told  bool // it has sent a notice to all others
	Lost  bool // nothing of it may be freed
	Links []linkReport
}

type linkReport struct {
	ID             string
	Size           int
	Begun          int64
	Header         bool // the last collective that was begun is a header that others have not begun
	Lost           bool
	Sent, Received int64
	Windows        [2]int // of callers, and of common memory
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

// plan is the state of a link on all of its ranks.
type plan struct {
	ranks          int
	begun, low     int64 // the most and the fewest collectives that a rank has begun
	header         bool  // of all that have begun the most
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

// possible is true if a link can be made quiet.
func (p *plan) possible() bool {
	return !p.lost && p.ranks == p.first.Size && p.sent == p.received &&
		(p.begun == p.low || p.begun == p.low+1 && p.header)
}
