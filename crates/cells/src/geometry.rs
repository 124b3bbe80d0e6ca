//! Cell layout: tri-sector sites on a hexagonal torus, antenna pattern, path loss, frequency reuse.
//!
//! Sites form the lattice a1 = D (1, 0), a2 = D (1/2, sqrt(3)/2). A rhombus of n by n sites wraps around in
//! both directions, so that the network has no edge. Path loss and antenna follow 3GPP TR 45.914 and TR
//! 25.996. [`Reuse`] states the colour of a site in each reuse pattern. Levels are received power as a
//! ratio to the transmitted power.

use crate::config::Radio;
use crate::numeric::{OCTAVES_PER_DB, exp2, log2, turns};
use crate::rows::WIDTH;

base::named! {
    /// Frequency reuse pattern: number of sites and of sectors (cells) per cluster. (i, j) is a site's position in
    /// the rhombus.
    pub enum Reuse {
        /// All cells use all carriers.
        R1x1 = "1/1",
        /// One site colour: three frequency groups, one for each sector of a site.
        R1x3 = "1/3",
        /// Three site colours, i - j modulo 3.
        R3x9 = "3/9",
        /// Four site colours, i and j modulo 2.
        R4x12 = "4/12",
        /// Five site colours, i + 2 j modulo 5. Five is no rhombic number, so that sites of a colour have unequal
        /// distances: sqrt(3) D and more.
        R5x15 = "5/15",
        /// Seven site colours, i - 2 j modulo 7.
        R7x21 = "7/21",
    }
}

impl Reuse {
    /// Number of site colours.
    pub const fn colours(self) -> u32 {
        match self {
            Reuse::R1x1 | Reuse::R1x3 => 1,
            Reuse::R3x9 => 3,
            Reuse::R4x12 => 4,
            Reuse::R5x15 => 5,
            Reuse::R7x21 => 7,
        }
    }

    /// Period of the pattern in sites: the side of the rhombus must be a multiple, so that the pattern repeats on the
    /// torus without a break.
    pub const fn tile(self) -> u32 {
        match self {
            Reuse::R4x12 => 2,
            other => other.colours(),
        }
    }

    /// Number of frequency groups.
    pub const fn groups(self) -> u32 {
        match self {
            Reuse::R1x1 => 1,
            other => 3 * other.colours(),
        }
    }

    /// Frequency group of a sector (0 to 2) of the site at (i, j).
    pub fn group(self, i: u32, j: u32, sector: u32) -> u32 {
        let (a, b) = (i as i32, j as i32);
        let colour = match self {
            Reuse::R1x1 => return 0,
            Reuse::R1x3 => 0,
            Reuse::R3x9 => (a - b).rem_euclid(3),
            Reuse::R4x12 => a.rem_euclid(2) + 2 * b.rem_euclid(2),
            Reuse::R5x15 => (a + 2 * b).rem_euclid(5),
            Reuse::R7x21 => (a - 2 * b).rem_euclid(7),
        };
        3 * colour as u32 + sector
    }
}

/// Number of values that vector loops process together.
pub(crate) const LANES: usize = 8;

/// Layout of the network: sites, cells, frequency groups, antennas and path loss.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Sites along one side of the rhombus.
    pub side: u32,
    /// Distance between neighbouring sites, m.
    pub distance: f32,
    /// Boresights of the three sectors, turns from a1.
    boresights: [f32; 3],
    /// Half-power beamwidth of the antenna, turns.
    width: f32,
    /// Maximum attenuation of the antenna relative to boresight, dB.
    front_to_back: f32,
    /// Path loss at 1 m, dB.
    intercept_db: f32,
    /// Path loss per octave of the squared distance, dB.
    slope: f32,
    /// Minimum distance between mobile and site, m.
    nearest: f32,
    /// Cells of each frequency group, ascending.
    pub groups: Vec<Vec<u32>>,
    /// For each cell: frequency group, and index in the group.
    pub lane: Vec<(u32, u32)>,
    /// For each cell: index in the levels of a mobile.
    at: Vec<u32>,
    /// Position of each site.
    places: Vec<Place>,
    /// Coordinates u and v of blocks of [`LANES`] sites; copies of the last site pad the last block.
    blocks: Vec<[[f32; LANES]; 2]>,
    /// By block of sites and sector: indices of the cells in the levels of a mobile; `u32::MAX` for padding.
    targets: Vec<[[u32; LANES]; 3]>,
    /// Number of levels per frequency group: cells, padded to a multiple of 32.
    pub row: usize,
}

/// Position in lattice coordinates: multiples of a1 and a2, from 0 to the side.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Place {
    /// Along a1.
    pub u: f32,
    /// Along a2.
    pub v: f32,
}

const HALF_SQRT_3: f32 = 0.866_025_4;

impl Layout {
    /// Layout of `side` by `side` sites with three cells each.
    pub fn new(side: u32, radio: &Radio, reuse: Reuse) -> Layout {
        let cells = 3 * side * side;
        let mut groups = vec![Vec::new(); reuse.groups() as usize];
        let mut lane = Vec::with_capacity(cells as usize);
        for cell in 0..cells {
            let (site, sector) = (cell / 3, cell % 3);
            let group = reuse.group(site % side, site / side, sector);
            lane.push((group, groups[group as usize].len() as u32));
            groups[group as usize].push(cell);
        }
        let widest = groups.iter().map(Vec::len).max().unwrap_or(0);
        let row = widest.div_ceil(WIDTH) * WIDTH;
        // Converts loss per decade of distance to loss per octave of squared distance.
        let slope = (radio.slope_db / 2.0) * std::f64::consts::LOG10_2;
        let at: Vec<u32> = lane.iter().map(|(group, lane)| group * row as u32 + lane).collect();
        let sites = (side * side) as usize;
        let places: Vec<Place> =
            (0..side * side).map(|s| Place { u: (s % side) as f32, v: (s / side) as f32 }).collect();
        let site = |block: usize, k: usize| places[(LANES * block + k).min(sites - 1)];
        let target = |block: usize, sector: usize, k: usize| {
            at.get(3 * (LANES * block + k) + sector).copied().unwrap_or(u32::MAX)
        };
        let count = sites.div_ceil(LANES);
        Layout {
            blocks: (0..count)
                .map(|b| [std::array::from_fn(|k| site(b, k).u), std::array::from_fn(|k| site(b, k).v)])
                .collect(),
            targets: (0..count)
                .map(|b| std::array::from_fn(|s| std::array::from_fn(|k| target(b, s, k))))
                .collect(),
            side,
            distance: radio.site_distance as f32,
            boresights: std::array::from_fn(|k| (radio.boresight / 360.0) as f32 + k as f32 / 3.0),
            width: (radio.beamwidth / 360.0) as f32,
            front_to_back: radio.front_to_back_db as f32,
            intercept_db: (radio.loss_1km_db - radio.slope_db * 3.0) as f32,
            slope: slope as f32,
            nearest: radio.nearest as f32,
            at,
            places,
            groups,
            lane,
            row,
        }
    }

    /// Number of cells.
    pub fn cells(&self) -> usize {
        self.lane.len()
    }
    /// Number of sites.
    pub fn sites(&self) -> usize {
        (self.side * self.side) as usize
    }
    /// Number of levels of a mobile, group after group, with padding.
    pub fn stride(&self) -> usize {
        self.row * self.groups.len()
    }
    /// Index of a cell in the levels of a mobile.
    #[inline]
    pub fn index(&self, cell: usize) -> usize {
        self.at[cell] as usize
    }

    /// Position of a site.
    pub fn site(&self, site: usize) -> Place {
        self.places[site]
    }

    /// Vector from a site to a position by the shortest way around the torus, m.
    #[inline(always)]
    pub fn vector(&self, site: usize, to: Place) -> (f32, f32) {
        let from = self.site(site);
        self.shortest(to.u - from.u, to.v - from.v)
    }

    /// Shortest image of a difference of lattice coordinates, as a vector in m.
    #[inline(always)]
    fn shortest(&self, du: f32, dv: f32) -> (f32, f32) {
        let n = self.side as f32;
        let wrap = |d: f32| {
            let d = if d > 0.5 * n { d - n } else { d };
            if d < -0.5 * n { d + n } else { d }
        };
        let (du, dv) = (wrap(du), wrap(dv));
        let norm = |a: f32, b: f32| a * a + a * b + b * b;
        // If both coordinates have the same sign, an image across one side of the rhombus may be nearer.
        let au = if du > 0.0 { du - n } else { du + n };
        let av = if dv > 0.0 { dv - n } else { dv + n };
        let (here, left, right) = (norm(du, dv), norm(au, dv), norm(du, av));
        let across = left < here && left <= right;
        let along = right < here && right < left;
        let (du, dv) = (if across { au } else { du }, if along { av } else { dv });
        (self.distance * (du + 0.5 * dv), self.distance * HALF_SQRT_3 * dv)
    }

    /// Position after a movement by the vector (dx, dy) in m, with wrap-around. Each coordinate may cross the border
    /// once.
    pub fn moved(&self, from: Place, dx: f32, dy: f32) -> Place {
        let n = self.side as f32;
        let dv = dy / (self.distance * HALF_SQRT_3);
        let du = dx / self.distance - 0.5 * dv;
        let wrap = |x: f32| {
            let x = if x < 0.0 { x + n } else { x };
            if x >= n { x - n } else { x }
        };
        Place { u: wrap(from.u + du), v: wrap(from.v + dv) }
    }

    /// Boresight of a sector, turns from a1.
    pub fn boresight(&self, sector: usize) -> f32 {
        self.boresights[sector % 3]
    }

    /// Cartesian coordinates of a position, m, for pictures.
    pub fn cartesian(&self, place: Place) -> (f32, f32) {
        (self.distance * (place.u + 0.5 * place.v), self.distance * HALF_SQRT_3 * place.v)
    }

    /// Levels of the three sectors of a site at a position: path loss, antenna pattern and `shadow_db` (a loss).
    pub fn levels(&self, site: usize, place: Place, shadow_db: f32) -> [f32; 3] {
        let at = self.site(site);
        let levels = self.block([at.u; LANES], [at.v; LANES], place, [shadow_db; LANES]);
        [levels[0][0], levels[1][0], levels[2][0]]
    }

    /// Levels at `to` of the sites at (`su`, `sv`), by sector. Loops are free of branches, so that they compile to
    /// vector code.
    #[inline(always)]
    fn block(
        &self,
        su: [f32; LANES],
        sv: [f32; LANES],
        to: Place,
        shadow_db: [f32; LANES],
    ) -> [[f32; LANES]; 3] {
        let mut bearing = [0.0_f32; LANES];
        let mut loss = [0.0_f32; LANES];
        for k in 0..LANES {
            let (x, y) = self.shortest(to.u - su[k], to.v - sv[k]);
            let square = (x * x + y * y).max(self.nearest * self.nearest);
            bearing[k] = turns(y, x);
            loss[k] = self.intercept_db + shadow_db[k] + self.slope * log2(square);
        }
        let mut levels = [[0.0_f32; LANES]; 3];
        for (boresight, row) in self.boresights.iter().zip(&mut levels) {
            for k in 0..LANES {
                let off = bearing[k] - boresight;
                let off = (off - ((off + 12_582_912.0) - 12_582_912.0)) / self.width;
                let antenna = (12.0 * off * off).min(self.front_to_back);
                row[k] = exp2(-(loss[k] + antenna) * OCTAVES_PER_DB);
            }
        }
        levels
    }

    /// Levels of all cells at a position, in the order of [`Layout::index`]; `shadow_db` is the loss of each site.
    /// Padding in `into` stays unchanged.
    pub fn gains(&self, place: Place, shadow_db: &[f32], into: &mut [f32]) {
        let blocks = self.blocks.iter().zip(&self.targets);
        for (n, ([u, v], targets)) in blocks.enumerate() {
            let mut shadow = [0.0; LANES];
            let from = shadow_db.get(LANES * n..).unwrap_or_default();
            shadow.iter_mut().zip(from).for_each(|(to, db)| *to = *db);
            let levels = self.block(*u, *v, place, shadow);
            for (target, level) in targets.as_flattened().iter().zip(levels.as_flattened()) {
                if let Some(place) = into.get_mut(*target as usize) {
                    *place = *level;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn layout() -> Layout {
        Layout::new(5, &Radio::default(), Reuse::R1x3)
    }

    /// EG-01, EG-03: 25 sites, 75 cells, three groups of 25.
    #[test]
    fn eg_01_eg_03_seventy_five_cells_in_three_groups() {
        let l = layout();
        assert_eq!((l.sites(), l.cells(), l.row, l.stride()), (25, 75, 32, 96));
        assert!(l.groups.iter().all(|g| g.len() == 25));
        let bcch = Layout::new(5, &Radio::default(), Reuse::R5x15);
        assert!(bcch.groups.len() == 15 && bcch.groups.iter().all(|g| g.len() == 5));
        for group in &bcch.groups {
            for (a, b) in group.iter().flat_map(|a| group.iter().map(move |b| (a, b))).filter(|(a, b)| a < b)
            {
                let (x, y) = bcch.vector((a / 3) as usize, bcch.site((b / 3) as usize));
                assert!(x * x + y * y > 2.99 * 1500.0 * 1500.0, "{a} {b}");
            }
        }
    }

    #[test]
    fn eg_01_the_antenna_has_a_width_of_65_degrees() {
        let l = layout();
        let at = |degrees: f64| {
            let (s, c) = (libm::sin(degrees.to_radians()) as f32, libm::cos(degrees.to_radians()) as f32);
            l.levels(12, l.moved(l.site(12), 400.0 * c, 400.0 * s), 0.0)[0]
        };
        let db = |x: f32| 10.0 * libm::log10(f64::from(x));
        assert!((db(at(0.0)) - db(at(32.5)) - 3.0).abs() < 0.01);
        assert!((db(at(0.0)) - db(at(180.0)) - 20.0).abs() < 0.01);
        assert!((-db(at(0.0)) - (120.9 + 37.6 * libm::log10(0.4))).abs() < 0.01);
    }

    proptest! {
        /// EG-01: the distance to a site equals the least distance to its 25 nearest images.
        #[test]
        fn eg_01_distances_are_those_of_the_torus(u in 0.0f32..5.0, v in 0.0f32..5.0, site in 0usize..25) {
            let l = layout();
            let (x, y) = l.vector(site, Place { u, v });
            let from = l.site(site);
            let mut least = f32::MAX;
            for i in -2..=2 {
                for j in -2..=2 {
                    let (du, dv) = (u - from.u + 5.0 * i as f32, v - from.v + 5.0 * j as f32);
                    least = least.min(du * du + du * dv + dv * dv);
                }
            }
            let found = (x * x + y * y) / (1500.0 * 1500.0);
            prop_assert!((found - least).abs() < 1e-3, "{found} {least}");
        }
    }
}
