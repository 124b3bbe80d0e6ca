//! Checksum CRC32c of SCTP packets (RFC 9260 appendix A): Castagnoli polynomial, reflected, with a table.

/// Remainders of all byte values.
const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0x82f6_3b78 } else { crc >> 1 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};

/// CRC32c of the bytes. The packet carries the checksum with its least significant byte first.
pub fn checksum(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| crc >> 8 ^ TABLE[usize::from(crc as u8 ^ byte)])
}

#[cfg(test)]
mod tests {
    use super::checksum;

    /// Test vectors of RFC 3720 appendix B.4.
    #[test]
    fn published_vectors() {
        let ascending: Vec<u8> = (0..32).collect();
        let descending: Vec<u8> = (0..32).rev().collect();
        assert_eq!(checksum(&[0; 32]), 0x8a91_36aa);
        assert_eq!(checksum(&[0xff; 32]), 0x62a8_ab43);
        assert_eq!(checksum(&ascending), 0x46dd_794e);
        assert_eq!(checksum(&descending), 0x113f_db5c);
        assert_eq!(checksum(b"123456789"), 0xe306_9283);
    }
}
