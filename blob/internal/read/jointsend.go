package read

import "cmp"

// ofRound returns which of n elements are sent in a round.
func (x *jointRead) ofRound(n, round int64) (from, to int64) {
	return n * round / x.rounds, n * (round + 1) / x.rounds
}

// take takes the messages of a round: the data, and in the first round also checksums.
func (x *jointRead) take(got [][]byte, round int64) {
	data := make([][]byte, len(got))
	for rank, b := range got {
		sums, rest, err := parseSums(b)
		x.err = cmp.Or(x.err, err)
		data[rank] = rest
		for i := range sums {
			s := &sums[i]
			if s.ext >= len(x.jobs) {
				x.err = cmp.Or(x.err, errMessage)
			} else if pf := x.jobs[s.ext].pf; pf != nil && x.js.kept[s.part] != nil {
				s.addTo(pf.of(x.js.kept[s.part]), 0)
			}
		}
	}
	for share := range x.own.parts {
		x.receive(x.own.from[x.own.bound[share]:x.own.bound[share+1]], x.own.rankOf(share, x.C.Size()), round, data)
	}
}

// messages returns the messages of this rank in a round. Without messages it returns nil, because in a job of many ranks most
// ranks send nothing.
func (x *jointRead) messages(round int64) (msgs [][]byte) {
	sums := map[int][]extentSums{}
	if x.err == nil && round == 0 {
		sums = x.sums()
	}
	if x.err != nil || len(x.own.to)+len(sums) == 0 {
		return nil
	}
	msgs = make([][]byte, x.C.Size())
	lists, total := make([][]portion, len(msgs)), int64(0)
	for rank := range msgs {
		if rank != x.C.Rank() || x.rounds > 1 { // see receive
			lists[rank] = x.own.to[rank]
		}
		if len(lists[rank])+len(sums[rank]) == 0 {
			continue
		}
		msgs[rank] = appendSums(nil, sums[rank])
		from, to := x.ofRound(elements(lists[rank]), round)
		total += int64(len(msgs[rank])) + (to-from)*x.width
	}
	b := x.out.of(total, x.r.Files.Opt.Memory)[:0]
	for rank, l := range lists {
		if len(msgs[rank]) == 0 {
			continue
		}
		start := len(b)
		b = append(b, msgs[rank]...)
		from, to := x.ofRound(elements(l), round)
		for i := range x.jobs {
			j := &x.jobs[i]
			src := x.buf[j.at:]
			eachBetween(l, from, to, func(u portion) { b = append(b, src[u.at*j.size:(u.at+u.n)*j.size]...) })
		}
		msgs[rank] = b[start:len(b):len(b)]
	}
	return msgs
}

// receive copies the elements in a rank's message into place. If there is only one round, a rank sends itself no message, and
// its own elements are copied from buf.
func (x *jointRead) receive(l []portion, rank int, round int64, data [][]byte) {
	mine := rank == x.C.Rank()
	switch {
	case len(l) == 0 || x.err != nil && mine:
	case mine && x.rounds == 1:
		read := x.own.to[rank]
		for i := range x.jobs {
			j := &x.jobs[i]
			src := x.buf[j.at:]
			for n, u := range l {
				copy(j.got[u.to*j.size:(u.to+u.n)*j.size], src[read[n].at*j.size:])
			}
		}
	default:
		from, to := x.ofRound(elements(l), round)
		b := data[rank]
		if int64(len(b)) != (to-from)*x.width {
			return // the sender has failed, and all ranks will learn of it
		}
		for i := range x.jobs {
			j := &x.jobs[i]
			eachBetween(l, from, to, func(u portion) { b = b[copy(j.got[u.to*j.size:(u.to+u.n)*j.size], b):] })
		}
	}
}

// sums returns, by keeper, the checksums of data of other keepers' subfiles. ext of extentSums is here the number of the job.
func (x *jointRead) sums() map[int][]extentSums {
	to := map[int][]extentSums{}
	for i := range x.jobs {
		pf := x.jobs[i].pf
		if pf == nil {
			continue
		}
		for part, s := range pf.parts {
			if x.js.kept[part.Index] == part {
				continue
			}
			rank := x.Keeper(x.js.s, part.Index)
			to[rank] = append(to[rank], extentSums{part.Index, i, s.Ext[0]})
			delete(pf.parts, part)
			pf.last.Store(nil)
		}
	}
	return to
}

// elements returns the number of elements of portions.
func elements(l []portion) (n int64) {
	for _, x := range l {
		n += x.n
	}
	return n
}

// eachBetween calls f for elements [from, to) of the concatenated portions.
func eachBetween(l []portion, from, to int64, f func(x portion)) {
	for _, x := range l {
		if from < x.n && to > 0 {
			a, b := max(from, 0), min(to, x.n)
			f(portion{x.at + a, b - a, x.to + a})
		}
		if from, to = from-x.n, to-x.n; to <= 0 {
			return
		}
	}
}
