use super::*;

static PAIRS: OverRows =
    OverRows::new(&[("number", Kind::Big), ("word", Kind::Text)], "select number, word from m");

#[test]
fn the_texts_name_every_column() {
    assert_eq!(
        PAIRS.postgres(),
        "with m (number, word) as (select * from unnest($1::bigint[], $2::text[])) \
         select number, word from m"
    );
    assert_eq!(
        PAIRS.sqlite(2),
        "with m (number, word) as (values (?, ?), (?, ?)) select number, word from m"
    );
}

#[test]
fn chunks_are_powers_of_two_and_leave_nothing_out() {
    for rows in 0..300 {
        let mut all = PAIRS.rows();
        for row in 0..rows {
            all.push([i64::from(row).into(), "word".into()]);
        }
        let sizes: Vec<usize> = all.chunks().iter().map(|chunk| chunk.len() / 2).collect();
        assert!(sizes.iter().all(|size| size.is_power_of_two() && *size <= CHUNK), "{sizes:?}");
        assert_eq!(sizes.iter().sum::<usize>(), usize::try_from(rows).unwrap());
    }
}
