#[test]
fn make() {
    let Some(to) = std::env::var_os("PROOF_LAKE") else {
        return;
    };
    let from = std::env::var("PROOF_FROM").unwrap();
    let (_, r) = crate::util::lake_of(
        to.as_ref(),
        &[from.into()],
        std::env::var_os("PROOF_DXT").is_some(),
    );
    println!("{r:?}");
}
