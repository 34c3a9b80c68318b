package ffformat

import (
	"blobio/internal/base/fault"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ownMark is the low 16 bits of the timestamp in each file that this package writes. The first byte of the pad in such a file
// holds a CRC-8 of all metadata, computed with that byte as 0.
//
// MD5 files of layouts B to F need the CRC because no hash covers their records. In layout A the checksum covers the records, but
// only Check computes it. The growth rule reveals a wrong id only if the variable has several containers. FTI reads neither the
// pad of the file block nor the timestamp. Convert, Compact and Repair keep the timestamp and therefore the mark.
const ownMark = 0xb10b

// OwnTime returns the first timestamp at or after ns that has the mark of this package's files in its low bits. A Writer stores
// it instead of ns. It is at most 65,535 ns later.
func OwnTime(ns int64) int64 {
	own := ns&^0xffff | ownMark
	if own < ns {
		own += 1 << 16
	}
	return own
}

// canVouch reports whether f can have a CRC in its pad. Fast files do not need it, because their hash covers the records.
func (f *File) canVouch() bool { return f.Hash == MD5 && !f.Parity }

// vouched reports whether the pad holds the CRC.
func (f *File) vouched() bool { return f.canVouch() && uint16(f.FB.Timestamp) == ownMark }

// vouch marks f as a file with a CRC in its pad, if f can have one; seal computes the CRC.
func (f *File) vouch() {
	if f.canVouch() {
		f.FB.Timestamp = OwnTime(f.FB.Timestamp)
	}
}

// padSum returns the right value of the pad.
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

// ids checks the only sum that covers the ids of all records: the CRC-8 in the pad, or the hash of a Fast file, which a lenient
// reader opens even if the hash is wrong. If the sum is wrong and no other flaw explains this, any id may be wrong that no other
// rule confirms. ids marks the variables in single, which have such ids, as lost.
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
			return // the sum is right, torn or missing, so it does not contradict the records
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

// uncovered returns the text of a note about the variables whose ids are confirmed by no sum and no rule, or "" if there are
// none.
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
