//! Chooses the blocks of an owner that are merged, so that a page of calls can be read from few
//! blocks.

/// The maximum number of rows of a block.
pub const BLOCK_ROWS_MAX: usize = 4_096;
/// The number of blocks that are merged at a time. With 8 blocks, a row is rewritten about seven
/// times on average if every written block has only one row, and less often if blocks are larger.
pub const MERGED_BLOCKS: usize = 8;

/// The tier of a block with this many rows. Blocks of the last tier are not merged.
fn tier(rows: usize) -> usize {
    match rows {
        0..64 => 0,
        64..512 => 1,
        512..BLOCK_ROWS_MAX => 2,
        _ => 3,
    }
}

/// Chooses the blocks to merge. `rows` has the number of rows of each block, oldest first. Returns
/// the positions of the oldest blocks of the lowest tier that has enough blocks.
pub fn choose_merge(rows: &[usize]) -> Vec<usize> {
    for wanted in 0..3 {
        let of_tier = rows.iter().enumerate();
        let of_tier = of_tier.filter(|(_, rows)| tier(**rows) == wanted);
        let positions: Vec<_> = of_tier.map(|(position, _)| position).collect();
        if positions.len() < MERGED_BLOCKS {
            continue;
        }
        let mut total = 0;
        let fitting = positions.into_iter().take(MERGED_BLOCKS);
        // At least two blocks fit, because a block of these tiers has fewer than `BLOCK_ROWS_MAX`
        // rows.
        return fitting
            .take_while(|position| {
                total += rows[*position];
                total <= 2 * BLOCK_ROWS_MAX
            })
            .collect();
    }
    Vec::new()
}
