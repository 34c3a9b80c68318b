package ffformat

import (
	"blobio/internal/base/fault"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ownMark is in the low 16 bits of the timestamp of each file that this package writes; the first byte of the pad then has a
// CRC-8 of all metadata with this byte as 0. It is needed because in MD5 files of B to F no hash covers the records (in A the checksum
// does, which only Check computes), and the growth rule contradicts a wrong id only where the variable has several containers. FTI
// reads neither the pad of the file block nor the timestamp. Convert, Compact and Repair keep the timestamp, and so a file with
// the mark becomes one with the mark.
const ownMark = 0xb10b

// OwnTime is the first time from ns on, in ns since 1970, that a file can have as its timestamp
// if the ids in it are to be covered by a sum; a Writer stores it in the place of ns. It is at most 65,535 ns later.
func OwnTime(ns int64) int64 {
	own := ns&^0xffff | ownMark
	if own < ns {
		own += 1 << 16
	}
	return own
}

// canVouch reports whether a reader needs the sum: Check has the checksum of A, and the hash of Fast files covers the records.
func (f *File) canVouch() bool { return f.Hash == MD5 && !f.Parity }

// vouched reports whether the pad is the sum.
func (f *File) vouched() bool { return f.canVouch() && uint16(f.FB.Timestamp) == ownMark }

// vouch makes f a file whose pad is the sum, where that can be; seal computes it.
func (f *File) vouch() {
	if f.canVouch() {
		f.FB.Timestamp = OwnTime(f.FB.Timestamp)
	}
}

// padSum is the right value of the pad.
func (f *File) padSum() (byte, error) {
	g := *f
	g.FB.Pad[0] = 0
	pieces, err := g.encode()
	if err != nil {
		return 0, err
	}
	crc := byte(0xff)
	for _, p := range pieces {
		for _, b := range p.Data {
			crc = crc8[crc^b]
		}
	}
	return ^crc, nil
}

// crc8 is the table of the CRC-8 with polynomial 0x2f (initial value and final xor 0xff).
var crc8 = func() (t [256]byte) {
	for i := range t {
		c := byte(i)
		for range 8 {
			if c&0x80 != 0 {
				c = c<<1 ^ 0x2f
			} else {
				c <<= 1
			}
		}
		t[i] = c
	}
	return t
}()

// ids checks the sum that alone covers the ids of all records: the CRC-8 in the pad, or the hash of a Fast file, which a lenient
// reader opens in spite of a wrong one. If that sum is wrong and no other finding explains it, any id that nothing else vouches for may be
// wrong: those variables are lost, by that name.
func (s *structure) ids(single []place) {
	f := s.f
	told := slices.ContainsFunc(s.flaws, func(x Finding) bool { return x.Severity >= Error })
	by := ""
	switch {
	case f.Hash == Fast:
		if !slices.ContainsFunc(split(f.Damaged), func(err error) bool {
			fe := (*FormatError)(nil)
			return errors.As(err, &fe) && fe.Field == "FB.myHash"
		}) {
			return // it fits, or it is torn or gone, which says nothing against the records
		}
		by = "FB.myHash"
	case f.vouched() && f.Damaged == nil:
		sum, err := f.padSum()
		if err != nil || sum == f.FB.Pad[0] {
			return
		}
		told = told || f.Layout.atEnd() && f.FB.Checksum != readerChecksum(f.Blocks)
		s.add(s.finding(fault.Warning, f.FileBlockOffset()+int64(f.Layout.table().fb.pad.off), "FB.pad", "%#02x, but the CRC-8 of the metadata is %#02x: a header, ckptId or the pad is damaged", f.FB.Pad[0], sum))
		by = "the CRC-8 in the pad of the file block"
	default:
		return
	}
	if told {
		return
	}
	s.doubtful = map[int32]bool{}
	for _, p := range single {
		s.doubtful[p.ID] = true
		s.at(p, f.Layout.table().vmd.id, "id", true, "%d is doubtful, because only %s covers it and does not match", p.ID, by)
	}
}

// uncovered is a note that names the variables whose ids nothing vouches for; "": there are none.
func (f *File) uncovered() string {
	if f.Layout == LayoutA || !f.canVouch() || f.vouched() {
		return ""
	}
	var ids []string
	for _, v := range f.Vars() {
		if v.Containers == 1 {
			ids = append(ids, fmt.Sprint(v.ID))
		}
	}
	if len(ids) == 0 {
		return ""
	}
	const most = 10
	more := ""
	if len(ids) > most {
		more = fmt.Sprintf(" and %d more", len(ids)-most)
	}
	return fmt.Sprintf("ids of variables with one container, %s%s, have no hash; a damaged id would not be detected",
		strings.Join(ids[:min(most, len(ids))], ", "), more)
}
